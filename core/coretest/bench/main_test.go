package main

import (
	"io"
	"testing"

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
