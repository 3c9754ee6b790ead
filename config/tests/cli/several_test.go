package cli

import (
	"strings"
	"testing"
)

func TestRunCommandOfSeveralDocuments(t *testing.T) {
	t.Parallel()
	server, address := setupFake(t)
	d := setupDesk(t, address, "sv_x")
	ctx := t.Context()
	for _, behind := range []string{"@none.csv", "@", "@bad.json"} {
		d.run(ctx, "run", "@good.csv", behind, "-w", "meter-readings").want(t, 2)
	}
	if runs := server.Runs(); len(runs) != 0 {
		t.Errorf("runs = %d, want none where a later document cannot be sent", len(runs))
	}
	server.Quota(1)
	got := d.run(ctx, "run", "@good.csv", "@bad.csv", "@warn.csv", "-w", "meter-readings", "--output", "@report.json")
	got.want(t, 6, "good.csv", "failed at ", "bad.csv; not sent: ", "warn.csv")
	if !strings.Contains(got.output, "PASSED") || !strings.Contains(d.read(t, "report.json"), "good.csv") {
		t.Errorf("output = %s, want what the run before has found", got.output)
	}
}

func TestRunCommandGoesOnBehindASlowDocument(t *testing.T) {
	t.Parallel()
	server, address := setupFake(t)
	d := setupDesk(t, address, "sv_x")
	ctx := t.Context()
	d.run(ctx, "run", "@good.csv", "-w", "meter-readings", "--key-prefix", "nightly", "--no-wait").want(t, 0)
	server.Hold()
	got := d.run(ctx, "run", "@bad.csv", "@good.csv", "-w", "meter-readings", "--key-prefix", "nightly",
		"--timeout", "3s")
	got.want(t, 4, "bad.csv: stopped waiting; the run continues: ")
	if !strings.Contains(got.output, "PASSED") {
		t.Errorf("output = %s, want what was found behind the slow document", got.output)
	}
	if runs := server.Runs(); len(runs) != 2 {
		t.Errorf("runs = %d, want one for each document", len(runs))
	}
}

func TestRunCommandWithAKeyPrefix(t *testing.T) {
	t.Parallel()
	server, address := setupFake(t)
	for range 2 {
		// Each time with another home and another attempt of a job.
		d := setupDesk(t, address, "sv_x", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT="+t.TempDir())
		d.run(t.Context(), "run", "@good.csv", "@bad.csv", "-w", "meter-readings", "--key-prefix", "nightly").want(t, 0)
		d.run(t.Context(), "run", "@good.csv", "-w", "meter-readings", "--key-prefix", "nightly",
			"--key", "k").want(t, 2)
		if kept := d.kept(t); len(kept) != 0 {
			t.Errorf("kept keys = %v, want none", kept)
		}
	}
	runs := server.Runs()
	if len(runs) != 2 || !strings.HasPrefix(string(runs[0].IdempotencyKey), "nightly-meter-readings-") {
		t.Errorf("runs = %+v, want one for each document with keys of the prefix", runs)
	}
}
