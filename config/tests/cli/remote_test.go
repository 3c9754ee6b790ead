package cli

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client/clienttest"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// desk is a user's place: a folder with documents, a home, and a command line that calls a service.
type desk struct {
	bench
	home string
}

func setupDesk(tb testing.TB, address, token string, environ ...string) desk {
	tb.Helper()
	d := desk{bench: setupBench(tb), home: tb.TempDir()}
	d.environ = append([]string{
		"HOME=" + d.home, "SV_URL=" + address, "SV_TOKEN=" + token, "SV_SECRET_KEY=" + fixture.SecretKey,
	}, environ...)
	return d
}

// kept lists the files in which keys are kept.
func (d desk) kept(tb testing.TB) []string {
	tb.Helper()
	names, err := fs.Glob(os.DirFS(d.home), ".local/state/simplevalidations/runs/*")
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

func TestRunCommand(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	s.WorksOn(t)
	d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Executor)

	t.Run("ShowsWhatWasFound", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		got := d.run(ctx, "run", "@bad.csv", "-w", "meter-readings")
		got.want(t, 1, "✗ FAILED", "8 errors", ":5:31", `"n/a" is not a number`, "^^^", "key ")
		if strings.Contains(got.output, "key ") {
			t.Errorf("output = %s, want data alone", got.output)
		}
		d.run(ctx, "run", "@good.csv", "@warn.csv", "-w", "meter-readings").want(t, 0, "2 of 2 documents passed")
		d.run(ctx, "run", "@warn.csv", "-w", "meter-readings", "--fail-on", "warning").want(t, 1, "1 warning")
		d.run(ctx, "run", "@bad.json", "-w", "building", "--format", "github").want(t, 1, "::error file=")
	})

	t.Run("WritesReports", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		d.run(ctx, "run", "@bad.csv", "-w", "meter-readings", "--format", "json", "--output", "@out.sarif").want(t, 1)
		if report := d.read(t, "out.sarif"); !strings.Contains(report, `"2.1.0"`) {
			t.Errorf("report = %s, want SARIF", report)
		}
	})

	t.Run("SendsMetadataAndOnlyStarts", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		// Beside others' runs it could not tell which keys are kept for its own.
		d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Executor)
		got := d.run(ctx, "run", "@good.csv", "-w", "meter-readings", "--no-wait", "--meta", "site=harbour",
			"--key", "n-1")
		got.want(t, 0)
		id := strings.TrimSpace(got.output)
		metadata := coretest.One[string](t, s.DB, `SELECT metadata::text FROM submissions s JOIN validation_runs r
			ON r.submission_id = s.id WHERE r.id = $1`, id)
		if metadata != `{"site": "harbour"}` && metadata != `{"site":"harbour"}` {
			t.Errorf("metadata = %s, want the site", metadata)
		}
		if source := coretest.One[string](t, s.DB, `SELECT source FROM validation_runs WHERE id = $1`,
			id); source != "CLI" {
			t.Errorf("source = %s, want CLI", source)
		}
		d.run(ctx, "runs", "watch", id).want(t, 0, "✓ PASSED")
		d.run(ctx, "runs", "watch", id, "--no-wait", "--format", "csv").want(t, 0, "document,run,step")
		d.run(ctx, "runs", "list", "--key", "n-1").want(t, 0, id, "COMPLETED")
		d.run(ctx, "runs", "list", "--source", "CLI", "--since", "2026-01-01").want(t, 0, id)
		d.run(ctx, "runs", "list", "--until", "2026-01-01T12:00:00+01:00", "--json").want(t, 0, `"results": []`)
		d.run(ctx, "runs", "list", "--source", "MAIL").want(t, 2, "source")
		d.run(ctx, "runs", "list", "--since", "yesterday").want(t, 2, "--since")
		d.run(ctx, "runs", "rerun", id).want(t, 0)
		d.run(ctx, "runs", "cancel", id).want(t, 2, "run_completed")
		d.run(ctx, "run", "@bad.csv", "-w", "meter-readings", "--key", "n-1").want(t, 2, "idempotency_key_reused")
		if kept := d.kept(t); len(kept) > 1 {
			t.Errorf("kept = %v, want nothing of runs that are over", kept)
		}
	})

	t.Run("RefusesWrongUse", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		for _, args := range []string{
			"run @good.csv", "run -w meter-readings", "run @none.csv -w meter-readings",
			"run @good.csv -w meter-readings --format x", "run @good.csv @bad.csv -w meter-readings --key k",
			"run @bad.json -w meter-readings", "run - - -w meter-readings", "run @good.csv -w nowhere",
			"run @good.csv -w legacy-import",
			"run @good.csv -w meter-readings --timeout -1s", "runs list --limit -1",
			"run @good.csv -w meter-readings --output @none/x.sarif",
			"runs list --org harbour-energy --json",
			"runs watch x",
		} {
			if got := d.run(ctx, strings.Fields(args)...); got.code != 2 || got.message == "" {
				t.Errorf("%s: exit code = %d, want 2 with a reason; message %s", args, got.code, got.message)
			}
		}
	})
}

func TestRunCommandInJobs(t *testing.T) {
	t.Parallel()
	server, address := setupFake(t)
	keyOf := func(name string, environ ...string) string {
		d := setupDesk(t, address, "sv_x", environ...)
		d.run(t.Context(), "run", "@"+name, "-w", "meter-readings", "--no-wait").want(t, 0)
		runs := server.Runs()
		return string(runs[len(runs)-1].IdempotencyKey)
	}
	first := keyOf("good.csv", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT=1")
	if !strings.HasPrefix(first, "ci-7-1-meter-readings-") {
		t.Errorf("key = %s, want it made of the job", first)
	}
	n := len(server.Runs())
	again := keyOf("good.csv", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT=1")
	if again != first || len(server.Runs()) != n {
		t.Errorf("key = %s with %d runs, want the same key and no new run", again, len(server.Runs()))
	}
	for name, other := range map[string]string{
		"Attempt":  keyOf("good.csv", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT=2"),
		"Document": keyOf("bad.csv", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT=1"),
		"GitLab":   keyOf("good.csv", "GITLAB_CI=true", "CI_PIPELINE_ID=7", "CI_JOB_ID=9"),
		"None":     keyOf("good.csv"),
	} {
		if other == first || other == "" {
			t.Errorf("%s: key = %s, want another one", name, other)
		}
	}
}

// setupFake is a service in memory that knows the workflow meter-readings, and its address.
func setupFake(tb testing.TB) (*clienttest.Server, string) {
	tb.Helper()
	server := clienttest.New()
	tb.Cleanup(server.Close)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/workflows/meter-readings/" {
			server.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.Workflow{ // The test sees what is missing.
			ID: "meter-readings", Slug: "meter-readings", Accepts: []string{"text/csv"},
			Steps: []api.WorkflowStep{{ID: "table", Name: "Table"}},
		})
	}))
	tb.Cleanup(front.Close)
	return server, front.URL
}

func TestRunCommandGoesOn(t *testing.T) {
	t.Parallel()

	t.Run("AfterItWasInterrupted", func(t *testing.T) {
		t.Parallel()
		server, address := setupFake(t)
		server.Hold()
		d := setupDesk(t, address, "sv_x")
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan outcome, 1)
		go func() { ended <- d.run(ctx, "run", "@good.csv", "-w", "meter-readings") }()
		coretest.Eventually(t, func() bool { return len(server.Runs()) == 1 })
		interrupt()
		got := <-ended
		run := server.Runs()[0]
		if got.code != 130 || run.Completed() || len(d.kept(t)) != 1 {
			t.Fatalf("outcome = %+v, kept %v, want 130 and a run and a key that go on", got, d.kept(t))
		}
		server.End(run.ID, api.RunResultPass)
		again := d.run(t.Context(), "run", "@good.csv", "-w", "meter-readings", "--resume")
		again.want(t, 0, run.ID, string(run.IdempotencyKey))
		if len(server.Runs()) != 1 || len(d.kept(t)) != 0 {
			t.Errorf("runs = %d, kept %v, want the one run and no key", len(server.Runs()), d.kept(t))
		}
	})

	t.Run("WhereTheRunTakesTooLong", func(t *testing.T) {
		t.Parallel()
		server, address := setupFake(t)
		server.Hold()
		d := setupDesk(t, address, "sv_x")
		got := d.run(t.Context(), "run", "@good.csv", "-w", "meter-readings", "--timeout", "50ms")
		got.want(t, 4, "runs watch "+server.Runs()[0].ID)
		d.run(t.Context(), "runs", "watch", server.Runs()[0].ID, "--no-wait").want(t, 4, "not completed")
	})
}

func TestRunCommandExitCodes(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	ctx := t.Context()
	address := "http://" + s.Address
	start := []string{"run", "@good.csv", "-w", "meter-readings"}

	setupDesk(t, address, "sv_wrong").run(ctx, start...).want(t, 5, "not_authenticated")
	setupDesk(t, address, s.Harbour.Tokens.Viewer).run(ctx, start...).want(t, 5, "permission_denied")
	setupDesk(t, address, "").run(ctx, start...).want(t, 2, "SV_TOKEN")
	setupDesk(t, "http://127.0.0.1:1", "sv_x").run(ctx, start...).want(t, 7, "did not answer")
	setupDesk(t, "nowhere", "sv_x").run(ctx, start...).want(t, 2, "https://validations.example")

	tiny := setupDesk(t, address, s.Tiny.Tokens.Executor)
	for range 3 {
		tiny.run(ctx, append(start, "--no-wait")...).want(t, 0)
	}
	tiny.run(ctx, append(start, "--no-wait")...).want(t, 6, "quota_exceeded", "Nothing was started")
	if kept := tiny.kept(t); len(kept) != 0 {
		t.Errorf("kept = %v, want no key of what was refused", kept)
	}

	t.Run("WhereAnswersGetLost", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		target, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		way := &fixture.Lossy{Base: s.Client.Transport}
		var starts atomic.Int64
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.Transport, proxy.ErrorLog = way, nil
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && starts.Add(1) <= 4 {
				way.Left.Store(1)
			}
			proxy.ServeHTTP(w, r)
		}))
		t.Cleanup(front.Close)
		d := setupDesk(t, front.URL, s.Harbour.Tokens.Executor)
		before := s.RowCounts(t).Runs
		d.run(ctx, append(start, "--no-wait")...).want(t, 7, "a run may exist", "--resume")
		if kept := d.kept(t); len(kept) != 1 {
			t.Fatalf("kept = %v, want the key of the start", kept)
		}
		d.run(ctx, append(start, "--no-wait", "--resume")...).want(t, 0)
		if after := s.RowCounts(t).Runs; after != before+1 || len(d.kept(t)) != 0 {
			t.Errorf("runs = %d, kept %v, want one more than %d and no key", after, d.kept(t), before)
		}
	})
}

func TestOtherRemoteCommands(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	s.WorksOn(t)
	token, _ := s.AddToken(t, s.Harbour, "owner", "author")
	d := setupDesk(t, "http://"+s.Address, token)
	ctx := t.Context()

	d.run(ctx, "whoami").want(t, 0, "owner@harbour-energy.example", "author", "remaining")
	d.run(ctx, "whoami", "--json").want(t, 0, `"schema_version": 1`, `"email"`, `"quota"`)
	d.run(ctx, "workflows", "list").want(t, 0, "meter-readings", "legacy-import")
	d.run(ctx, "workflows", "list", "--json").want(t, 0, `"schema_version": 1`, `"results"`, `"building"`)
	d.run(ctx, "workflows", "export", "nowhere").want(t, 2, "not_found")
	exported := d.run(ctx, "workflows", "export", "building")
	exported.want(t, 0, "schema_version: 1")
	d.write(t, "building.yaml", exported.output)
	d.run(ctx, "workflows", "lint", "@building.yaml").want(t, 0, "ok")
	d.run(ctx, "workflows", "import", "@building.yaml").want(t, 0, "unchanged")
	d.run(ctx, "workflows", "lint", "@wrong.yaml").want(t, 2, "wrong.yaml:")
	d.run(ctx, "workflows", "import", "@wrong.yaml").want(t, 2, "invalid_payload", "line ", "/steps/0")
	d.write(t, "call.yaml", workflowFile("application/json", "http", `{url: "http://0.0.0.0:9/"}`))
	d.run(ctx, "workflows", "import", "@call.yaml").want(t, 0, "created")
	d.run(ctx, "run", "@bad.json", "-w", "checked").want(t, 3, "! ERROR", "its address is not public", "not your fault")
	d.run(ctx, "runs", "document", s.Started(t, s.Start(t, "")).ID).want(t, 0, "meter_id,read_at")
	d.run(ctx, "runs", "document", "nowhere").want(t, 2, "not_found")
	d.run(ctx, "doctor").want(t, 0, "SV101", "SV104", "author of harbour-energy")
	d.run(ctx, "--version").want(t, 0, "simplevalidations 1.2.3")
	d.run(ctx, "openapi").want(t, 0, "openapi: 3.1.0")
	made := d.run(ctx, "token", "create", "--label", "desk", "--role", "viewer")
	made.want(t, 0, "svt_")
	holder := setupDesk(t, "http://"+s.Address, strings.TrimSpace(made.output))
	me := holder.run(ctx, "whoami", "--json")
	me.want(t, 0, `"viewer"`)
	_, id, _ := strings.Cut(me.output, `"token": "`)
	d.run(ctx, "token", "list").want(t, 0, "desk", "active")
	d.run(ctx, "token", "list", "--json", "--limit", "1").
		want(t, 0, `"schema_version": 1`, `"results"`, "--limit 0 lists all")
	d.run(ctx, "token", "revoke", id[:36]).want(t, 0)
	holder.run(ctx, "whoami").want(t, 5)
	d.run(ctx, "runs", "list", "--json").want(t, 0, `"schema_version": 1`, `"results"`)

	lost := setupDesk(t, "http://127.0.0.1:1", token)
	lost.run(ctx, "doctor").want(t, 3, "SV101", "error", "SV_URL")
	lost.run(ctx, "whoami").want(t, 7)
	setupDesk(t, "http://"+s.Address, "sv_wrong").run(ctx, "doctor", "--json").want(t, 3, `"SV104"`, "SV_TOKEN")
}

func TestRemoteConfiguration(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	ctx := t.Context()
	d := setupDesk(t, "", "")
	folder := filepath.Join(d.home, ".config", "simplevalidations")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "config.yaml")
	write := func(text string, mode fs.FileMode) {
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("url: http://"+s.Address+"\ntoken: "+s.Harbour.Tokens.Viewer+"\n", 0o600)
	d.run(ctx, "whoami").want(t, 0, "viewer")
	d.environ = append(d.environ, "SV_TOKEN="+s.Harbour.Tokens.Executor)
	d.run(ctx, "whoami").want(t, 0, "executor")
	d.environ = append(d.environ, "SV_URL=http://127.0.0.1:1")
	d.run(ctx, "whoami").want(t, 7)
	d.run(ctx, "whoami", "--url", "http://"+s.Address).want(t, 0, "executor")
	write("token: sv_x\n", 0o644)
	d.run(ctx, "whoami").want(t, 2, "chmod 600")
	write("tokn: sv_x\n", 0o600)
	d.run(ctx, "whoami").want(t, 2, "tokn")
}
