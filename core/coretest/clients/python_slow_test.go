//go:build slow

package clients

import (
	"path/filepath"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestPythonTypes holds the client, its tests and its driver to strict types.
func TestPythonTypes(t *testing.T) {
	t.Parallel()
	execute(t, pythonClient, nil, "mypy", "--cache-dir", t.TempDir())
}

// TestPythonWheelByPip has pip install the wheel, and build it from its sources, without a network.
func TestPythonWheelByPip(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Abs(pythonClient)
	if err != nil {
		t.Fatal(err)
	}
	for name, what := range map[string]string{"Wheel": buildWheel(t), "Sources": sources} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			execute(t, folder, nil, "python3", "-m", "venv", "venv")
			execute(t, folder, nil, "venv/bin/python", "-m", "pip", "install", "--no-index", what)
			startInstalled(t, program.Install(t), filepath.Join(folder, "venv", "bin", "python"), "PYTHONPATH=")
		})
	}
}
