package api

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// goClient is the Go client with a token.
func (s *stage) goClient(tb testing.TB, token string) *client.Client {
	tb.Helper()
	c, err := client.New("http://"+s.Address, client.WithToken(token),
		client.WithHTTPClient(&http.Client{Transport: s.Client.Transport}))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// TestGoClient has what core/coretest/clients does not try: those tests lose requests and answers of all clients.
func TestGoClient(t *testing.T) {
	t.Parallel()
	table := fixture.SampleText(t, "bad/meter-readings.csv")
	document := func() client.StartRequest {
		return client.StartRequest{
			Workflow: "meter-readings", Content: strings.NewReader(table), Filename: "Zähler \"1\".csv",
			MediaType: "text/csv", Metadata: map[string]any{"site": "harbour"}, Name: "Readings",
		}
	}

	t.Run("WaitsAndReadsWhatWasFound", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Waits(t)
		c := s.goClient(t, s.Harbour.Tokens.Executor)
		started, err := c.Start(t.Context(), document())
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		run, err := c.Wait(t.Context(), started.Run.ID, func(e client.Event) {
			told = append(told, e.Name)
			if e.Name == client.EventRunCreated {
				s.Work(t)
			}
		})
		if err != nil || run.Result != api.RunResultFail || run.Counts.Errors != 8 {
			t.Fatalf("run = %+v and error %v, want 8 errors", run, err)
		}
		if got := strings.Join(told, " "); got != "run.created run.started step.completed run.completed" {
			t.Errorf("events = %s, want the whole story once", got)
		}
		found := 0
		for finding, err := range c.Findings(run.ID).All(t.Context()) {
			if err != nil || finding.Line == 0 {
				t.Fatalf("finding = %+v and error %v, want one with its line", finding, err)
			}
			found++
		}
		if found != 8 {
			t.Errorf("findings = %d, want 8", found)
		}
		report, err := c.Report(t.Context(), run.ID, client.ReportSARIF)
		if err != nil || !strings.Contains(string(report), "2.1.0") {
			t.Errorf("report = %s and error %v, want SARIF", report, err)
		}
		again, err := c.Rerun(t.Context(), run.ID, "again-1")
		if err != nil || string(again.Run.RerunOf) != run.ID || again.Key != "again-1" {
			t.Errorf("rerun = %+v and error %v, want one of %s", again, err, run.ID)
		}
		readsAround(t, s, c, run)
		canceled, err := c.Cancel(t.Context(), again.Run.ID)
		if err != nil || canceled.Result != api.RunResultCanceled {
			t.Errorf("canceled = %+v and error %v, want it canceled", canceled, err)
		}
	})

	t.Run("ReadsTheRest", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		token, _ := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleAuthor)
		c := s.goClient(t, token)
		ctx := t.Context()
		if me, err := c.Me(ctx); err != nil || me.Org.Slug != s.Harbour.Slug || me.Role != "author" {
			t.Errorf("me = %+v and error %v, want harbour's author", me, err)
		}
		if usage, err := c.Usage(ctx); err != nil || usage.Quota == nil || usage.ResetsAt.IsZero() {
			t.Errorf("usage = %+v and error %v, want a quota", usage, err)
		}
		if health, err := c.Health(ctx); err != nil || health.Database != "ok" || health.At.IsZero() {
			t.Errorf("health = %+v and error %v, want a database and a time", health, err)
		}
		count := 0
		for _, err := range c.Workflows().All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			count++
		}
		workflow, err := c.Workflow(ctx, "meter-readings", 1)
		if err != nil || len(workflow.Steps) == 0 || count < 2 {
			t.Errorf("workflow = %+v of %d and error %v, want it with its steps", workflow, count, err)
		}
		file, err := c.ExportWorkflow(ctx, "meter-readings", 0)
		if err != nil {
			t.Fatal(err)
		}
		imported, err := c.ImportWorkflow(ctx, file, "")
		if err != nil || imported.Outcome != "unchanged" || imported.Workflow.ID != workflow.ID {
			t.Errorf("import = %+v and error %v, want nothing new", imported, err)
		}
		_, err = c.ImportWorkflow(ctx, []byte("slug: 1"), "")
		if refused, ok := errors.AsType[*client.Error](err); !ok || len(refused.Errors) == 0 {
			t.Errorf("error = %v, want what is wrong with the file", err)
		}
	})
}

// readsAround reads what there is about a run besides its findings: its document, the comparison, and its requests.
func readsAround(tb testing.TB, s *stage, c *client.Client, run api.Run) {
	tb.Helper()
	ctx := tb.Context()
	window, err := c.DocumentLines(ctx, run.ID, 5, 1)
	if err != nil || len(window.Lines) != 1 || window.Lines[0].Number != 5 || len(window.Findings) != 1 {
		tb.Errorf("lines = %+v and error %v, want line 5 with its finding", window, err)
	}
	content, err := c.Document(ctx, run.ID)
	if err != nil || int64(len(content)) != window.Size {
		tb.Errorf("document of %d bytes and error %v, want %d", len(content), err, window.Size)
	}
	compared, err := c.Compare(ctx, run.ID)
	if err != nil || compared.Previous != "" || !compared.Complete {
		tb.Errorf("comparison = %+v and error %v, want no previous run", compared, err)
	}
	for search, want := range map[string]int{"zähler": 1, "nowhere": 0} {
		found := 0
		for listed, err := range c.Runs(client.RunFilter{Q: search, Result: api.RunResultFail}).All(ctx) {
			if err != nil || listed.ID != run.ID {
				tb.Fatalf("run = %+v and error %v, want %s", listed, err, run.ID)
			}
			found++
		}
		if found != want {
			tb.Errorf("runs that contain %s = %d, want %d", search, found, want)
		}
	}
	s.FlushRequests(tb)
	logged := 0
	for request, err := range c.Requests(client.RequestFilter{Key: string(run.IdempotencyKey)}).All(ctx) {
		if err != nil {
			tb.Fatal(err)
		}
		logged++
		detail, err := c.Request(ctx, request.ID)
		if err != nil || string(detail.Run) != run.ID || detail.BodySize == 0 || len(detail.Headers) == 0 {
			tb.Errorf("request = %+v and error %v, want that of run %s", detail, err, run.ID)
		}
	}
	settings, err := c.Organization(ctx)
	if err != nil || logged != 1 || settings.Slug != s.Harbour.Slug || settings.MaxTokens == 0 {
		tb.Errorf("%d requests and settings %+v, error %v, want 1 and harbour's", logged, settings, err)
	}
}
