package coretest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// CheckersVariable is the setting that names the folder of the programs which check documents.
const CheckersVariable = "SV_PROGRAMS"

// BuildCheckers builds the programs that carry validators of the service, where `make build` puts them, and returns
// their folder. They are linked only when they have changed.
func BuildCheckers(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, "bin", "programs")
	for _, name := range []string{"ids", "schematron"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(root, "validations", "programs", name),
			"-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(folder, name), ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the program %s: %w\n%s", name, err, output)
		}
	}
	return folder, nil
}
