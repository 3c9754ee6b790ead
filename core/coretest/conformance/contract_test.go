package conformance

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

func TestMain(m *testing.M) { program.Main(m) }

// TestContract is the table of contents. Its parts share one pair of servers and keep apart by their keys.
func TestContract(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, part := range []struct {
		name string
		test func(*testing.T)
	}{
		{"KeySyntax", s.testKeySyntax},
		{"Replay", s.testReplay},
		{"Fingerprint", s.testFingerprint},
		{"Scope", s.testScope},
		{"Authorization", s.testAuthorization},
		{"Concurrency", s.testConcurrency},
		{"Errors", s.testErrors},
		{"Lifetime", s.testLifetime},
		{"Policy", s.testPolicy},
		{"Operations", s.testOperations},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t)
		})
	}
	t.Cleanup(func() {
		if !t.Failed() {
			program.CheckInvariants(t, s.DB)
		}
	})
}
