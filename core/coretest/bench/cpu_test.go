package main

import (
	"os/exec"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// The private PostgreSQL is a child of the service, and its sessions are children of that.
func TestFamily(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), "sh", "-c", "(cat; true) | (cat; true); true")
	input, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	coretest.Eventually(t, func() bool {
		family, err := familyOf(parent.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return len(family) == 5 // The shell, two of its own, and their children.
	})
	all, err := familyMemory(parent.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := residentMemory(parent.Process.Pid, "VmRSS:")
	if err != nil || all <= 0 || all >= 5*alone {
		t.Errorf("memory of all = %.0f, of one %.0f, %v, want what they share counted once", all, alone, err)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err != nil {
		t.Fatal(err)
	}
}
