package clienttest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/client/clienttest"
)

func setup(tb testing.TB) (*clienttest.Server, *client.Client) {
	tb.Helper()
	server := clienttest.New()
	tb.Cleanup(server.Close)
	retries := client.DefaultRetries()
	retries.MinWait, retries.MaxWait = time.Millisecond, time.Millisecond
	c, err := client.New(server.URL(), client.WithRetries(retries))
	if err != nil {
		tb.Fatal(err)
	}
	return server, c
}

func start(tb testing.TB, c *client.Client, key, content string) (client.Started, error) {
	tb.Helper()
	return c.Start(tb.Context(), client.StartRequest{
		Workflow: "meter-readings", Key: key, Content: strings.NewReader(content),
	})
}

func mustStart(tb testing.TB, c *client.Client, key string) client.Started {
	tb.Helper()
	started, err := start(tb, c, key, "a")
	if err != nil {
		tb.Fatal(err)
	}
	return started
}

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("ReplaysKeys", func(t *testing.T) {
		t.Parallel()
		server, c := setup(t)
		first, again := mustStart(t, c, "k"), mustStart(t, c, "k")
		if again.Run.ID != first.Run.ID || !again.Replayed || again.OriginalRequestID != first.RequestID {
			t.Errorf("again = %+v, want a replay of %s", again, first.RequestID)
		}
		if again.Expires.IsZero() || again.RequestID == first.RequestID {
			t.Errorf("again = %+v, want an end of the key and a request id of its own", again)
		}
		if _, err := start(t, c, "k", "b"); !errors.Is(err, api.CodeKeyReused) {
			t.Errorf("error = %v, want that the key is used", err)
		}
		if len(server.Runs()) != 1 || server.Starts() != 3 {
			t.Errorf("runs = %d of %d starts, want 1 of 3", len(server.Runs()), server.Starts())
		}
	})

	t.Run("LosesAnswers", func(t *testing.T) {
		t.Parallel()
		server, c := setup(t)
		server.DropResponses(2)
		if started := mustStart(t, c, ""); started.Attempts != 3 || !started.Replayed {
			t.Errorf("started = %+v, want a replay at the third attempt", started)
		}
		if len(server.Runs()) != 1 {
			t.Errorf("runs = %d, want 1", len(server.Runs()))
		}
	})

	t.Run("CountsItsQuota", func(t *testing.T) {
		t.Parallel()
		server, c := setup(t)
		server.Quota(1)
		mustStart(t, c, "k")
		if _, err := start(t, c, "", "a"); !errors.Is(err, api.CodeQuotaExceeded) {
			t.Errorf("error = %v, want a full quota", err)
		}
		mustStart(t, c, "k")
	})

	t.Run("EndsRunsOnDemand", func(t *testing.T) {
		t.Parallel()
		server, c := setup(t)
		server.Outcome(api.RunResultFail, api.Step{
			StepID: "s", Counts: api.Counts{Errors: 2}, Issues: []api.Issue{{Line: 7, Count: 2}},
		})
		run, err := c.Wait(t.Context(), mustStart(t, c, "").Run.ID, nil)
		if err != nil || run.Result != api.RunResultFail || run.Counts.Errors != 2 {
			t.Errorf("run = %+v and error %v, want 2 errors", run, err)
		}
		for finding, err := range c.Findings(run.ID).All(t.Context()) {
			if err != nil || finding.StepID != "s" || finding.Line != 7 {
				t.Errorf("finding = %+v and error %v, want that of the step", finding, err)
			}
		}
		server.Hold()
		held := mustStart(t, c, "").Run
		if canceled, err := c.Cancel(t.Context(), held.ID); err != nil || canceled.Result != api.RunResultCanceled {
			t.Errorf("run = %+v and error %v, want it canceled", canceled, err)
		}
		if _, err := c.Cancel(t.Context(), run.ID); !errors.Is(err, api.CodeRunCompleted) {
			t.Errorf("error = %v, want that the run has ended", err)
		}
	})
}

func TestServerIsBusyAndSlow(t *testing.T) {
	t.Parallel()
	server, c := setup(t)
	server.Busy(1)
	server.Delay(time.Millisecond)
	if started := mustStart(t, c, ""); started.Attempts != 2 || started.Replayed {
		t.Errorf("started = %+v, want a first answer at the second attempt", started)
	}
	count := 0
	for run, err := range c.Runs(client.RunFilter{}).All(t.Context()) {
		if err != nil || !run.Completed() {
			t.Errorf("run = %+v and error %v, want a completed one", run, err)
		}
		count++
	}
	if count != 1 {
		t.Errorf("runs = %d, want 1", count)
	}
}
