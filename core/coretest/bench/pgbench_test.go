package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParsePgbench(t *testing.T) {
	t.Parallel()
	const tail = "latency average = 1.6 ms\ninitial connection time = 9.1 ms\n" +
		"tps = 500.000000 (without initial connection time)\n"

	t.Run("ReadsCountAndRate", func(t *testing.T) {
		t.Parallel()
		got, err := parsePgbench("number of transactions actually processed: 1000\n" +
			"number of failed transactions: 0 (0.000%)\n" + tail)
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		if got.requests != 1000 || got.elapsed != 2*time.Second {
			t.Errorf("sample of %d in %s, want 1000 in 2s", got.requests, got.elapsed)
		}
	})

	for name, output := range map[string]string{
		"Failures": "number of transactions actually processed: 1000\n" +
			"number of failed transactions: 3 (0.300%)\n" + tail,
		"NothingDone": "number of transactions actually processed: 0\n" +
			"number of failed transactions: 0 (NaN%)\n" + tail,
		"SomethingElse": tail,
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			if got, err := parsePgbench(output); err == nil {
				t.Errorf("sample = %+v, want an error", got)
			}
		})
	}
}

func TestTakeLatencies(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "log")
	lines := "0 1 2500 0 1795000000 1\n1 1 900 0 1795000000 2\n"
	if err := os.WriteFile(prefix+".1", []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := takeLatencies(prefix)
	if err != nil {
		t.Fatalf("read the logs: %v", err)
	}
	want := latencies{900 * time.Microsecond, 2500 * time.Microsecond}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("latencies (-want +got):\n%s", diff)
	}
}

func TestByteaText(t *testing.T) {
	t.Parallel()
	if got, want := byteaText([]byte(`a\b`)), `a\\b`; got != want {
		t.Errorf("text = %s, want %s", got, want)
	}
}
