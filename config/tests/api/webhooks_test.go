package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations/webhooks"
)

// receiver is a receiver of webhooks that answers as its test says: 204 unless there is an answer left.
type receiver struct {
	*httptest.Server

	mu      sync.Mutex
	answers []http.HandlerFunc
	got     []received
}

// received is a request that a receiver has got.
type received struct {
	header http.Header
	body   []byte
}

func (r received) event(tb testing.TB) api.Event {
	tb.Helper()
	var event api.Event
	if err := json.Unmarshal(r.body, &event); err != nil {
		tb.Fatal(err)
	}
	return event
}

func newReceiver(tb testing.TB, answers ...http.HandlerFunc) *receiver {
	tb.Helper()
	r := &receiver{answers: answers}
	r.Server = httptest.NewServer(r)
	tb.Cleanup(r.Close)
	return r
}

// ServeHTTP keeps the request and gives the next answer.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body) // A body that is cut short verifies under no signature.
	r.mu.Lock()
	r.got = append(r.got, received{request.Header, body})
	answer := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	if len(r.answers) > 0 {
		answer, r.answers = r.answers[0], r.answers[1:]
	}
	r.mu.Unlock()
	answer(w, request)
}

func (r *receiver) requests() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// status answers with a status.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, "the answer %d", code) // 204 has no body.
	}
}

// webhookStage is a stage whose deliveries reach this machine and are repeated at once, twice.
func webhookStage(tb testing.TB) *stage {
	tb.Helper()
	return setup(tb, fixture.ReachesReceivers)
}

// owner is a request of harbour's owner with a JSON body.
func (s *stage) owner(method, path, body string) call {
	return call{Method: method, Path: path, Token: s.Harbour.Tokens.Owner}.WithBody("application/json", body)
}

// webhook creates a webhook.
func (s *stage) webhook(tb testing.TB, url, more string) api.WebhookSecret {
	tb.Helper()
	return fixture.Decoded[api.WebhookSecret](tb, s.Must(tb, http.StatusCreated,
		s.owner(http.MethodPost, "/api/webhooks/", `{"url":"`+url+`"`+more+`}`)))
}

// executed starts a run and executes it.
func (s *stage) executed(tb testing.TB) string {
	tb.Helper()
	run := s.Started(tb, s.Start(tb, ""))
	s.Work(tb)
	return run.ID
}

// deliveriesOf lists the deliveries of a webhook.
func (s *stage) deliveriesOf(tb testing.TB, id string) []api.Delivery {
	tb.Helper()
	return fixture.Decoded[api.Page[api.Delivery]](tb, s.Must(tb, http.StatusOK,
		s.owner(http.MethodGet, "/api/webhooks/"+id+"/deliveries/", ""))).Results
}

// events lists the events of harbour behind one.
func (s *stage) events(tb testing.TB, query string) []api.Event {
	tb.Helper()
	return read[api.Page[api.Event]](tb, s, "/api/events/"+query).Results
}

// logsEvents switches the event log of harbour on.
func (s *stage) logsEvents(tb testing.TB) {
	tb.Helper()
	s.Must(tb, http.StatusOK, patching(call{Token: s.Harbour.Tokens.Owner}, `{"event_log":true}`))
}

func TestWebhook(t *testing.T) {
	t.Parallel()

	t.Run("GetsSignedEvents", func(t *testing.T) {
		t.Parallel()
		s := webhookStage(t)
		receiver := newReceiver(t)
		hook := s.webhook(t, receiver.URL, `,"event_types":["run.completed"],"headers":{"Authorization":"Bearer x"}`)
		run := s.executed(t)
		s.Deliver(t)
		got := receiver.requests()
		if len(got) != 1 {
			t.Fatalf("receiver got %d requests, want 1", len(got))
		}
		verifier, err := standardwebhooks.NewWebhook(hook.Secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(got[0].body, got[0].header); err != nil {
			t.Errorf("verify: %v", err)
		}
		event := got[0].event(t)
		if event.ID != got[0].header.Get("Webhook-Id") || event.Type != api.EventTypeRunCompleted ||
			event.Data["run"] != run || event.Data["result"] != "PASS" {
			t.Errorf("event = %+v with id %s, want the end of run %s", event, got[0].header.Get("Webhook-Id"), run)
		}
		if got[0].header.Get("Authorization") != "Bearer x" {
			t.Errorf("headers = %v, want that of the webhook", got[0].header)
		}
		if diff := cmp.Diff([]api.Event{event}, s.events(t, "?run="+run)); diff != "" {
			t.Errorf("list (-sent +listed):\n%s", diff)
		}
	})

	t.Run("IsSignedByBothSecretsAfterARotation", func(t *testing.T) {
		t.Parallel()
		s := webhookStage(t)
		receiver := newReceiver(t)
		first := s.webhook(t, receiver.URL, "")
		second := fixture.Decoded[api.WebhookSecret](t, s.Must(t, http.StatusCreated,
			s.owner(http.MethodPost, "/api/webhooks/"+first.ID+"/rotate/", "")))
		s.executed(t)
		s.Deliver(t)
		s.Exec(t, `UPDATE webhooks SET rotated_at = now() - interval '25 hours'`)
		s.executed(t)
		s.Deliver(t)
		for i, want := range []map[string]bool{
			{first.Secret: true, second.Secret: true}, {first.Secret: false, second.Secret: true},
		} {
			for secret, verifies := range want {
				verifier, err := standardwebhooks.NewWebhook(secret)
				if err != nil {
					t.Fatal(err)
				}
				got := receiver.requests()[i]
				if err := verifier.Verify(got.body, got.header); (err == nil) != verifies {
					t.Errorf("request %d: verify = %v, want success: %t", i, err, verifies)
				}
			}
		}
	})

	t.Run("KeepsItsFormerSecretWhenARotationIsSentTwice", func(t *testing.T) {
		t.Parallel()
		s := webhookStage(t)
		receiver := newReceiver(t)
		secrets := []string{s.webhook(t, receiver.URL, "").Secret}
		path := "/api/webhooks/" + coretest.One[string](t, s.DB, `SELECT id::text FROM webhooks`) + "/rotate/"
		for range 2 {
			secrets = append(secrets, fixture.Decoded[api.WebhookSecret](t,
				s.Must(t, http.StatusCreated, s.owner(http.MethodPost, path, ""))).Secret)
		}
		s.executed(t)
		s.Deliver(t)
		got := receiver.requests()[0]
		for i, verifies := range []bool{true, false, true} {
			verifier, err := standardwebhooks.NewWebhook(secrets[i])
			if err != nil {
				t.Fatal(err)
			}
			if err := verifier.Verify(got.body, got.header); (err == nil) != verifies {
				t.Errorf("secret %d: verify = %v, want success: %t", i, err, verifies)
			}
		}
	})

	t.Run("GetsOnlyWhatItWants", func(t *testing.T) {
		t.Parallel()
		s := webhookStage(t)
		receiver := newReceiver(t)
		s.webhook(t, receiver.URL+"/canceled", `,"event_types":["run.canceled"]`)
		s.executed(t)
		canceled := s.Started(t, s.Start(t, ""))
		s.Must(t, http.StatusOK, s.Cancel(canceled.ID))
		s.Deliver(t)
		got := receiver.requests()
		if len(got) != 1 || got[0].event(t).Type != api.EventTypeRunCanceled ||
			got[0].event(t).Data["run"] != canceled.ID {
			t.Errorf("requests = %s, want the cancellation of %s", got, canceled.ID)
		}
		if n := coretest.One[int](t, s.DB, `SELECT count(*) FROM events`); n != 1 {
			t.Errorf("%d events, want only that which somebody wants", n)
		}
	})
}

func TestWebhookIsDisabled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		before string
		reason string
	}{
		"ByItsReceiver": {status(410), `SELECT`, "It answered with status 410: it wants no more events."},
		"AfterFiveDays": {
			status(500), `UPDATE webhooks SET failing_since = now() - interval '121 hours'`,
			"No attempt has succeeded for five days.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := webhookStage(t)
			receiver, watcher := newReceiver(t, tt.answer), newReceiver(t)
			hook := s.webhook(t, receiver.URL, `,"event_types":["run.completed"]`)
			s.webhook(t, watcher.URL, `,"event_types":["endpoint.disabled"]`)
			s.Exec(t, tt.before)
			// The second event is none of those that it refuses: both at once would count as a success.
			for range 2 {
				s.executed(t)
				s.Deliver(t)
			}
			path := "/api/webhooks/" + hook.ID + "/"
			got := fixture.Decoded[api.Webhook](t, s.Must(t, http.StatusOK, s.owner(http.MethodGet, path, "")))
			if got.State != api.WebhookStateDisabled || got.DisabledReason != tt.reason {
				t.Errorf("webhook = %+v, want it disabled because %q", got, tt.reason)
			}
			if told := watcher.requests(); len(told) != 1 || told[0].event(t).Data["webhook"] != hook.ID {
				t.Errorf("the other webhook got %s, want the event of it", told)
			}
			coretest.WantRow(t, s.DB, coretest.Row{"target_id": hook.ID, "detail": tt.reason, "actor_id": ""},
				`SELECT target_id, detail, coalesce(actor_id::text, '') AS actor_id FROM audit_records
				WHERE action = 'webhook.disable'`)

			// Events of that time are kept, and sent when a person says so.
			missed := s.executed(t)
			s.Deliver(t)
			seen := len(receiver.requests())
			s.Must(t, http.StatusOK, s.owner(http.MethodPatch, path, `{"enabled":true}`))
			s.Must(t, http.StatusAccepted, s.owner(http.MethodPost, path+"resend/",
				`{"since":"`+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)+`"}`))
			s.Deliver(t)
			again := receiver.requests()[seen:]
			isMissed := func(r received) bool { return r.event(t).Data["run"] == missed }
			if len(again) != 3 || !slices.ContainsFunc(again, isMissed) {
				t.Errorf("after it was enabled it got %d events, want 3 with the missed one", len(again))
			}
			for _, delivery := range s.deliveriesOf(t, hook.ID) {
				if delivery.State != api.DeliveryStateDelivered {
					t.Errorf("delivery = %+v, want it delivered", delivery)
				}
			}
		})
	}
}

// TestEventsAreMissedByNobody lets the transactions of two events end in the other order: who has read the first one
// that was committed finds the other one behind it.
func TestEventsAreMissedByNobody(t *testing.T) {
	t.Parallel()
	s := webhookStage(t)
	s.logsEvents(t)
	began := func() pgx.Tx {
		tx, err := s.DB.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), notesEvent); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	commit := func(tx pgx.Tx) {
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Publisher.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first, second := began(), began()
	commit(second)
	seen := s.events(t, "")
	if len(seen) != 1 {
		t.Fatalf("%d events, want the committed one", len(seen))
	}
	commit(first)
	if behind := s.events(t, "?after="+seen[0].ID); len(behind) != 1 || behind[0].ID == seen[0].ID {
		t.Errorf("behind the first event: %+v, want the other one", behind)
	}
}

// TestEventsArePaged reads pages to the end, and goes on there when there are more.
func TestEventsArePaged(t *testing.T) {
	t.Parallel()
	s := webhookStage(t)
	s.logsEvents(t)
	var runs []string
	for range 5 {
		runs = append(runs, s.executed(t))
	}
	s.Deliver(t)
	var seen []string
	last := ""
	for link := api.Optional("/api/events/?page_size=2&type=run.completed"); link != ""; {
		page := read[api.Page[api.Event]](t, s, string(link))
		for _, event := range page.Results {
			seen, last = append(seen, fmt.Sprint(event.Data["run"])), event.ID
		}
		link = page.Next
	}
	if !slices.Equal(seen, runs) {
		t.Errorf("runs = %v, want %v in their order", seen, runs)
	}
	if got := s.events(t, "?last=1"); len(got) != 1 || got[0].ID != last {
		t.Errorf("the last event = %+v, want %s", got, last)
	}
	newest := read[api.Page[api.Event]](t, s, "/api/events/?type=run.completed&last=3&page_size=2")
	rest := read[api.Page[api.Event]](t, s, string(newest.Next))
	for i, event := range append(newest.Results, rest.Results...) {
		if event.Data["run"] != runs[2+i] || rest.Next != "" || len(rest.Results) != 1 {
			t.Errorf("event %d of the last three = %+v, want run %s", i, event, runs[2+i])
		}
	}
	more := s.executed(t)
	s.Deliver(t)
	if got := s.events(t, "?after="+last); len(got) != 1 || got[0].Data["run"] != more {
		t.Errorf("behind the end: %+v, want run %s", got, more)
	}
	s.Refused(t, api.CodeNotFound, s.reading("/api/events/?after="+unknownID))
}

// TestEventsArePurged keeps the newest event, so that a program that was away for long may ask what came after it.
func TestEventsArePurged(t *testing.T) {
	t.Parallel()
	s := webhookStage(t)
	s.logsEvents(t)
	for range 3 {
		s.executed(t)
	}
	s.Deliver(t)
	newest := s.events(t, "")[2]
	s.Exec(t, `UPDATE events SET at = now() - interval '31 days'`)
	if n, err := webhooks.Purge(t.Context(), s.DB, 1); n != 2 || err != nil {
		t.Fatalf("purged %d, %v, want 2", n, err)
	}
	run := s.executed(t)
	s.Deliver(t)
	if got := s.events(t, "?after="+newest.ID); len(got) != 1 || got[0].Data["run"] != run {
		t.Errorf("behind the newest event: %+v, want run %s", got, run)
	}
}
