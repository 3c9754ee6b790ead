package coretest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Root returns the folder of the module. Tests run inside of it, and the paths that are compiled in may be trimmed.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("find the module: the tests do not run inside of it")
}
