package coretest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// CheckersVariable is the setting that names the folder of the programs which check documents.
const CheckersVariable = "SV_PROGRAMS"

// BuildCheckers builds the programs that carry validators of the service, as `make programs` does, and returns their
// folder. They are linked only when they have changed.
func BuildCheckers(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	if output, err := exec.CommandContext(ctx, "make", "-C", root, "programs").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, output)
	}
	return filepath.Join(root, "bin", "programs"), nil
}
