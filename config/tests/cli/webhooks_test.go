package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	s := &eventStage{fixture.Setup(t, fixture.ReachesReceivers)}
	ctx := t.Context()
	d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Owner)
	const address = "https://hooks.example/cli"

	set := []string{"webhooks", "set", address, "--events", "run.completed,run.canceled", "--description", "the books"}
	d.run(ctx, set...).want(t, 0, "whsec_")
	d.run(ctx, set...).want(t, 2, "is the URL of another webhook")
	d.run(ctx, "webhooks", "set", address+"/a", "--signature", "v1a").want(t, 0, "whpk_")
	d.run(ctx, "webhooks", "set", address+"/a", "--rotate").want(t, 2, "named by its id")
	d.run(ctx, "webhooks", "set", "a-path/", "--signature", "v9").want(t, 2, "signature must be one of v1, v1a")

	d.run(ctx, "webhooks", "list").want(t, 0, "active", address, "run.completed run.canceled", "the books", "v1a")
	hook := coretest.One[string](t, s.DB, `SELECT id::text FROM webhooks WHERE url = $1`, address)
	d.run(ctx, "webhooks", "set", hook, "--enabled=false", "--events", "", "--workflow", "").want(t, 0, "changed "+hook)
	d.run(ctx, "webhooks", "list", "--json").want(t, 0, `"state": "disabled"`, `"event_types": []`, `"the books"`)
	d.run(ctx, "webhooks", "set", hook, "--enabled", "--new-url", address+"/b").want(t, 0, "changed")
	d.run(ctx, "webhooks", "list").want(t, 0, address+"/b")
	d.run(ctx, "webhooks", "set", hook, "--signature", "v1a").want(t, 2, "that of a new webhook")
	d.write(t, "headers", "Authorization: Bearer a:b\nX-Team: billing\n")
	d.run(ctx, "webhooks", "set", hook, "--headers", "@headers").want(t, 0, "changed")
	d.run(ctx, "webhooks", "list", "--json").want(t, 0, `"Authorization",`, `"X-Team"`, `"pending_deliveries": 0`)
	d.write(t, "headers", "")
	d.run(ctx, "webhooks", "set", hook, "--headers", "@headers").want(t, 0, "changed")
	d.run(ctx, "webhooks", "list", "--json").want(t, 0, `"headers": []`)
	d.run(ctx, "webhooks", "set", hook, "--rotate").want(t, 0, "whsec_")
	d.run(ctx, "webhooks", "set", hook, "--rotate", "--enabled").want(t, 2, "the secret and nothing else")
	d.run(ctx, "webhooks", "send", hook, "--test", "--wait").want(t, 2, "--test sends a new event")

	event := strings.TrimSpace(d.run(ctx, "webhooks", "send", hook, "--test").output)
	s.publish(t)
	s.publish(t)
	d.run(ctx, "webhooks", "deliveries", hook, "--state", "pending").want(t, 0, event, "webhook.test")
	d.run(ctx, "webhooks", "deliveries", hook, "--event", event, "--json").want(t, 0, `"event": "`+event)
	d.run(ctx, "webhooks", "deliveries").want(t, 2, "WEBHOOK is missing")
	d.run(ctx, "webhooks", "send", hook, "--event", event).want(t, 0, "sending again to "+address)
	d.run(ctx, "webhooks", "send", hook, "--since", "2026-03-01", "--key", "again").want(t, 0, "sending again")
	d.run(ctx, "webhooks", "send", hook).want(t, 2, "event must be given, or since")
	both := d.run(ctx, "webhooks", "send", hook, "--event", event, "--since", "2026-03-01")
	both.want(t, 2, "event must not be given beside since")
	d.run(ctx, "webhooks", "set", hook, "--enabled=false").want(t, 0, "changed")
	waiting := []string{"webhooks", "send", hook, "--since", "2026-03-01", "--wait"}
	d.run(ctx, waiting...).want(t, 3, "the webhook is disabled: its deliveries wait")
	receiver := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(receiver.Close)
	d.run(ctx, "webhooks", "set", hook, "--enabled", "--new-url", receiver.URL).want(t, 0, "changed")
	ended := make(chan outcome, 1)
	go func() { ended <- d.run(ctx, waiting...) }()
	coretest.Await(t, "events are sent again", func() bool {
		return coretest.One[bool](t, s.DB, `SELECT resend_until IS NOT NULL FROM webhooks WHERE id = $1`, hook)
	})
	var done outcome
	// An attempt may not be due yet.
	coretest.Await(t, "nothing is left to send", func() bool {
		s.Deliver(t)
		select {
		case done = <-ended:
			return true
		default:
			return false
		}
	})
	done.want(t, 0, "sent again to "+receiver.URL)
	d.run(ctx, "webhooks", "deliveries", hook).want(t, 0, event, "failed", "404", "It answered with status 404.")
	d.run(ctx, "webhooks", "delete", hook).want(t, 0, "deleted "+hook)
	d.run(ctx, "webhooks", "send", hook, "--test").want(t, 2, "not_found")
	viewer := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer)
	viewer.run(ctx, "webhooks", "list").want(t, 5, "permission_denied")
}

// listener is a program on the machine of the user, which fails for the first request with each event.
type listener struct {
	*httptest.Server

	mu   sync.Mutex
	took []string
}

func newListener(tb testing.TB, secret string) *listener {
	tb.Helper()
	l := &listener{}
	verify, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		tb.Fatal(err)
	}
	receiver := client.WebhookReceiver{Secrets: []string{secret}}
	handler := receiver.Handler(func(_ context.Context, event api.Event) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.took = append(l.took, event.ID)
		if slices.Index(l.took, event.ID) == len(l.took)-1 {
			return errors.New("no")
		}
		return nil
	})
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err = errors.Join(err, verify.Verify(body, r.Header)); err != nil {
			tb.Errorf("the public library refuses the request: %v", err)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler.ServeHTTP(w, r)
	}))
	tb.Cleanup(l.Close)
	return l
}

// TestListen has a program get what happens while the command listens, and while it does not.
func TestListen(t *testing.T) {
	t.Parallel()
	s := &eventStage{fixture.Setup(t)}
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	program := newListener(t, secret)
	d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer, "SV_WEBHOOK_SECRET="+secret)
	s.Exec(t, `UPDATE organizations SET event_log = true WHERE slug = 'harbour-energy'`)
	old := s.happens(t)
	forwarding := []string{"--state", "@last", "--forward-to", program.URL}

	stop := d.listens(t, old, forwarding...)
	second := s.happens(t)
	d.reaches(t, second)
	stop().want(t, 130, "key.abandoned "+second+" /api/x", "status 500; trying again")
	third := s.happens(t)
	said := d.listens(t, third, forwarding...)()
	said.want(t, 130, third)
	if strings.Contains(said.output, second) || strings.Contains(said.message, secret) {
		t.Errorf("output = %s %s, want neither what was forwarded before nor the secret", said.output, said.message)
	}
	if want := []string{second, second, third, third}; !slices.Equal(program.took, want) {
		t.Errorf("the program got %v, want %v", program.took, want)
	}

	if err := os.Remove(d.path("last")); err != nil {
		t.Fatal(err)
	}
	said = d.listens(t, third, "--state", "@last", "--after", old, "--json")()
	said.want(t, 130, `{"id":"`+second+`","type":"key.abandoned","schema_version":1,`)
	if lines := strings.Count(said.output, "\n"); lines != 2 {
		t.Errorf("output = %s, want two lines", said.output)
	}

	d.write(t, "last", "7c9e6679-7425-40de-944b-e07fc1f90ae7\n")
	ctx := t.Context()
	d.run(ctx, "webhooks", "listen", "--state", "@last").want(t, 2, "there is no event 7c9e6679")
	d.run(ctx, "webhooks", "listen", "--state", "@").want(t, 2, "read the last event")
	d.run(ctx, "webhooks", "listen", "--forward-to", "localhost:3000").want(t, 2, "--forward-to is a URL")
	d.environ = append(d.environ, "SV_WEBHOOK_SECRET=whsec_short")
	short := d.run(ctx, "webhooks", "listen", "--forward-to", program.URL)
	short.want(t, 2, "SV_WEBHOOK_SECRET is not whsec_")
	if strings.Contains(short.message, "short") {
		t.Errorf("message = %s, want one without the secret", short.message)
	}
}

// eventStage is a stage in which events happen.
type eventStage struct{ *stage }

// publish gives events their places in the list.
func (s *eventStage) publish(tb testing.TB) {
	tb.Helper()
	if _, err := s.Publisher.RunOnce(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// happens writes an event of harbour, publishes it and returns its id.
func (s *eventStage) happens(tb testing.TB) string {
	tb.Helper()
	s.Exec(tb, `SELECT note_event(id, 'key.abandoned', $1, $1, json_build_object('url', '/api/x'))
		FROM organizations WHERE slug = 'harbour-energy'`, nil)
	s.publish(tb)
	return coretest.One[string](tb, s.DB, `SELECT id::text FROM events ORDER BY position DESC LIMIT 1`)
}

// listens runs the command until it has come to an event, and returns what ends it.
func (d desk) listens(tb testing.TB, event string, args ...string) func() outcome {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	ended := make(chan outcome, 1)
	go func() { ended <- d.run(ctx, append([]string{"webhooks", "listen"}, args...)...) }()
	tb.Cleanup(cancel)
	d.reaches(tb, event)
	return func() outcome {
		cancel()
		return <-ended
	}
}

// reaches waits until the file of the last event has the event.
func (d desk) reaches(tb testing.TB, event string) {
	tb.Helper()
	coretest.Await(tb, "the event is the last one", func() bool {
		kept, err := os.ReadFile(d.path("last"))
		return err == nil && strings.TrimSpace(string(kept)) == event
	})
}
