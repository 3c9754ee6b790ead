package main

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// TestMutantsCanBePlanted finds the texts that mutants replace, and the tests that catch them, without running them.
func TestMutantsCanBePlanted(t *testing.T) {
	t.Parallel()
	root, err := coretest.Root()
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := load()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, m := range mutants {
		if names[m.Name] || m.Harm == "" {
			t.Errorf("mutant %q: want a name of its own and the harm that it does", m.Name)
		}
		names[m.Name] = true
		if _, err := m.plant(root); err != nil {
			t.Error(err)
		}
		if err := m.findTest(root); err != nil {
			t.Error(err)
		}
	}
}
