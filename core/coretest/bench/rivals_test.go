package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadLogs(t *testing.T) {
	t.Parallel()
	read := func(t *testing.T, lines string) (sample, error) {
		t.Helper()
		prefix := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(prefix+".1", []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		return readLogs(prefix)
	}

	t.Run("MeasuresFromTheFirstBeginningToTheLastEnd", func(t *testing.T) {
		t.Parallel()
		got, err := read(t, "0 1 2500 0 1795000000 999000\n1 1 900 0 1795000001 1500\n")
		if err != nil {
			t.Fatalf("read the logs: %v", err)
		}
		want := sample{
			requests: 2, elapsed: 5 * time.Millisecond,
			latencies: []time.Duration{900 * time.Microsecond, 2500 * time.Microsecond},
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{}, written{})); diff != "" {
			t.Errorf("sample (-want +got):\n%s", diff)
		}
	})

	for name, lines := range map[string]string{
		"AFailure":      "0 1 2500 0 1795000000 1\n1 1 failed 0 1795000000 2\n",
		"NothingDone":   "",
		"SomethingElse": "tps = 500.000000\n",
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			if got, err := read(t, lines); err == nil {
				t.Errorf("sample = %+v, want an error", got)
			}
		})
	}
}
