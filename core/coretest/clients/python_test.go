package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const pythonClient = "../../client/python"

// TestPythonClient runs the client's own tests.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	said := execute(t, pythonClient, []string{"PYTHONPATH=src"},
		"python3", "-m", "unittest", "discover", "-t", ".", "-s", "tests")
	if !strings.Contains(said, "\nOK\n") {
		t.Errorf("the tests said %q, want OK", said)
	}
}

// TestPythonClientIsForOldPythons reads all its files as Python 3.9 would.
func TestPythonClientIsForOldPythons(t *testing.T) {
	t.Parallel()
	const read = `
import ast, pathlib, sys
files = sorted(pathlib.Path(".").rglob("*.py"))
for file in files:
    ast.parse(file.read_text("utf-8"), str(file), feature_version=(3, 9))
print(len(files))
`
	if said := execute(t, pythonClient, nil, "python3", "-c", read); strings.TrimSpace(said) == "0" {
		t.Error("no files were read")
	}
}

// TestPythonWheel builds the wheel twice, installs it where nothing else is, and starts a run with what was installed.
func TestPythonWheel(t *testing.T) {
	t.Parallel()
	wheel := buildWheel(t)
	again := buildWheel(t)
	if first, second := read(t, wheel), read(t, again); first != second {
		t.Error("two wheels of the same sources differ, want the same bytes")
	}
	// A wheel without programs is installed by unpacking it.
	site := t.TempDir()
	execute(t, site, nil, "python3", "-m", "zipfile", "-e", wheel, ".")
	checkRecord(t, site)
	installation := program.Install(t)
	startInstalled(t, installation, "python3", "PYTHONPATH="+site)
}

func buildWheel(tb testing.TB) string {
	tb.Helper()
	backend, err := filepath.Abs(filepath.Join(pythonClient, "backend.py"))
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(execute(tb, tb.TempDir(), nil, "python3", backend, tb.TempDir()))
}

// checkRecord compares what was unpacked to the wheel's own list.
func checkRecord(tb testing.TB, site string) {
	tb.Helper()
	const check = `
import base64, csv, hashlib, pathlib
record = next(pathlib.Path(".").glob("*.dist-info/RECORD"))
listed = {name: digest for name, digest, _ in csv.reader(record.open())}
found = {path.as_posix() for path in pathlib.Path(".").rglob("*") if path.is_file()}
assert found == set(listed) and "simplevalidations/py.typed" in found, found ^ set(listed)
for name, digest in listed.items():
    if digest:
        sha = base64.urlsafe_b64encode(hashlib.sha256(pathlib.Path(name).read_bytes()).digest()).rstrip(b"=").decode()
        assert digest == "sha256=" + sha, name
`
	execute(tb, site, nil, "python3", "-c", check)
}

// startInstalled starts a run by the interpreter with a client that was installed for it.
func startInstalled(tb testing.TB, installation *program.Installation, python string, env ...string) {
	tb.Helper()
	server := program.Serve(tb, installation.Settings)
	const start = `
import os, simplevalidations
place = simplevalidations.__file__
assert "/venv/" in place or os.environ["PYTHONPATH"] and place.startswith(os.environ["PYTHONPATH"]), place
with simplevalidations.Client(os.environ["URL"], os.environ["TOKEN"]) as client:
    started = client.start("building", b'{"building": {}}', media_type="application/json", filename="building.json")
    print(client.wait(started.run.id, timeout=60).id)
`
	env = append(env, "URL="+server.URL(), "TOKEN="+installation.Harbour.Tokens.Executor)
	id := strings.TrimSpace(execute(tb, tb.TempDir(), env, python, "-c", start))
	const ended = "SELECT count(*) FROM validation_runs WHERE id::text = $1 AND state = 'COMPLETED'"
	if got := program.Count(tb, installation.DB, ended, id); got != 1 {
		tb.Errorf("completed runs with the id %q = %d, want 1", id, got)
	}
}

// execute runs a program to its end, which has to be a success, and returns what it has said.
func execute(tb testing.TB, dir string, env []string, name string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), env...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, said)
	}
	return string(said)
}

func read(tb testing.TB, name string) string {
	tb.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}
