package main

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestMain(m *testing.M) { coretest.Main(m) }

func samplesOf(tb testing.TB) samples {
	tb.Helper()
	s, err := readSamples()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestParseOptions(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		args []string
		want options
	}{
		"Default": {
			want: shortOptions(),
		},
		"Full": {
			args: []string{"-full"},
			want: options{
				dir: ".data/bench", clients: []int{8, 32, 64}, rounds: 3, duration: 5 * time.Second, youth: time.Minute,
				soak: 20 * time.Second,
			},
		},
		"Chosen": {
			args: []string{
				"-dir", "/elsewhere", "-rounds", "7", "-duration", "4s", "-clients", "1, 16", "-only", "rates,young",
			},
			want: options{
				dir: "/elsewhere", clients: []int{1, 16}, rounds: 7, duration: 4 * time.Second,
				only: []string{"rates", "young"}, youth: 15 * time.Second, soak: 20 * time.Second,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseOptions(tt.args, io.Discard)
			if err != nil {
				t.Fatalf("parse %q: %v", tt.args, err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunRefusesWrongUsage(t *testing.T) {
	t.Parallel()

	for name, args := range map[string][]string{
		"UnknownFlag":     {"-quick"},
		"Argument":        {"now"},
		"NoRound":         {"-rounds", "0"},
		"TwiceSoMany":     {"-rounds", "1,2"},
		"HalfASecond":     {"-duration", "500ms"},
		"ClientsAreWords": {"-clients", "8,many"},
		"NoClient":        {"-clients", "0"},
		"UnknownScenario": {"-only", "rates,all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := run(t.Context(), args, io.Discard, t.Output()); got != exitUsage {
				t.Errorf("exit code = %d, want %d", got, exitUsage)
			}
		})
	}
}
