package api

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestReceivers(t *testing.T) {
	t.Parallel()
	const delivered, failed = api.DeliveryStateDelivered, api.DeliveryStateFailed
	for name, tt := range map[string]struct {
		answers  []http.HandlerFunc
		state    api.DeliveryState
		statuses []int
		reason   string
	}{
		"Accepts":            {[]http.HandlerFunc{status(200)}, delivered, []int{200}, ""},
		"AcceptsWithoutBody": {nil, delivered, []int{204}, ""},
		"IsDownAtFirst":      {[]http.HandlerFunc{status(503), status(201)}, delivered, []int{201, 503}, ""},
		"Redirects": {
			slices.Repeat([]http.HandlerFunc{status(301)}, 3), failed,
			[]int{301, 301, 301},
			"It redirects with status 301, which is not followed.",
		},
		"RefusesAlways": {
			slices.Repeat([]http.HandlerFunc{status(400)}, 3), failed,
			[]int{400, 400, 400},
			"It answered with status 400.",
		},
		"HangsUp": {
			slices.Repeat([]http.HandlerFunc{hangUp}, 3), failed,
			[]int{0, 0, 0},
			"The connection ended before the answer.",
		},
		"AnswersForEver":   {[]http.HandlerFunc{endless}, delivered, []int{200}, ""},
		"AnswersTooLate":   {[]http.HandlerFunc{silent, silent}, delivered, []int{204, 0, 0}, ""},
		"StopsInMidAnswer": {[]http.HandlerFunc{unfinished}, delivered, []int{200}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := webhookStage(t)
			receiver := newReceiver(t, tt.answers...)
			hook := s.webhook(t, receiver.URL, "")
			s.executed(t)
			s.Deliver(t)
			deliveries := s.deliveriesOf(t, hook.ID)
			if len(deliveries) != 1 {
				t.Fatalf("deliveries = %+v, want one", deliveries)
			}
			got := deliveries[0]
			var statuses []int
			for _, attempt := range got.Attempts {
				statuses = append(statuses, attempt.Status)
			}
			if got.State != tt.state || !slices.Equal(statuses, tt.statuses) || got.Attempts[0].Reason != tt.reason {
				t.Errorf("delivery = %+v, want %s after %v because %q", got, tt.state, tt.statuses, tt.reason)
			}
			ids := make(map[string]bool)
			for _, request := range receiver.requests() {
				ids[request.header.Get("Webhook-Id")] = true
			}
			if len(ids) != 1 || !ids[got.Event] {
				t.Errorf("ids = %v, want %s at each attempt", ids, got.Event)
			}
			if excerpt := got.Attempts[0].Excerpt; len(excerpt) > 1024 {
				t.Errorf("excerpt has %d bytes", len(excerpt))
			}
		})
	}
}

// silent answers nothing until the other side gives up.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// unfinished begins to answer and then says nothing more.
func unfinished(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "begun") // The test sees what arrives.
	_ = http.NewResponseController(w).Flush()
	silent(w, r)
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close() // The other side sees it.
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	for line := []byte(strings.Repeat("x", 1<<10)); ; {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// TestReceiverIsNotReached names the reasons why a request never came to its receiver.
func TestReceiverIsNotReached(t *testing.T) {
	t.Parallel()
	s := webhookStage(t)
	closed := newReceiver(t)
	closed.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	const elsewhere = "Its name leads to no address that may be called."
	hooks := make(map[string]string)
	for url, reason := range map[string]string{
		closed.URL:    "No connection could be made.",
		untrusted.URL: "Its certificate is not valid.",
		strings.Replace(newReceiver(t).URL, "http:", "https:", 1): "It does not speak TLS.",
		"https://10.0.0.1/":        elsewhere,
		"https://nothing.invalid/": elsewhere,
	} {
		hooks[s.webhook(t, url, "").ID] = reason
	}
	s.executed(t)
	s.Deliver(t)
	for id, reason := range hooks {
		got := s.deliveriesOf(t, id)
		if len(got) != 1 || got[0].State != api.DeliveryStateFailed || got[0].Attempts[0].Reason != reason {
			t.Errorf("deliveries = %+v, want one that failed because %q", got, reason)
		}
	}
}

// TestRetryAfter lets receivers say when they want the next attempt.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := webhookStage(t)
	for name, header := range map[string]string{
		"Seconds": "3600", "Date": time.Now().Add(time.Hour).UTC().Format(http.TimeFormat),
	} {
		receiver := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		hook := s.webhook(t, receiver.URL, "")
		s.Must(t, http.StatusAccepted, s.owner(http.MethodPost, "/api/webhooks/"+hook.ID+"/test/", ""))
		s.Deliver(t)
		got := s.deliveriesOf(t, hook.ID)
		if len(got) != 1 || got[0].State != api.DeliveryStatePending ||
			time.Until(got[0].NextAttemptAt.Time) < 50*time.Minute || len(receiver.requests()) != 1 {
			t.Errorf("%s: deliveries = %+v after %d requests, want one that waits for an hour", name, got,
				len(receiver.requests()))
		}
	}
}

// TestDeliveryAfterLostJob empties the queue: what was due is still due, and is sent once the job counts as lost.
func TestDeliveryAfterLostJob(t *testing.T) {
	t.Parallel()
	s := webhookStage(t)
	receiver := newReceiver(t)
	s.webhook(t, receiver.URL, "")
	s.executed(t)
	if _, err := s.Publisher.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, `DELETE FROM staged_jobs`)
	if n, err := s.Publisher.RunOnce(t.Context()); n != 0 || err != nil {
		t.Fatalf("staged again at once: %d, %v", n, err)
	}
	s.Exec(t, `UPDATE webhooks SET lease_until = now()`)
	s.Deliver(t)
	if got := receiver.requests(); len(got) != 1 {
		t.Errorf("%d requests, want 1", len(got))
	}
}

// TestDeliveryAfterACrash lets a process send an event and lose its lease before it stores that: the next one sends it
// again.
func TestDeliveryAfterACrash(t *testing.T) {
	t.Parallel()
	s := webhookStage(t)
	// While it answers, another process takes the webhook over.
	takenOver := func(w http.ResponseWriter, r *http.Request) {
		_, err := s.DB.Pool.Exec(r.Context(), `UPDATE webhooks SET epoch = epoch + 1, lease_until = NULL`)
		if err != nil {
			t.Error(err)
		}
		status(http.StatusOK)(w, r)
	}
	receiver := newReceiver(t, takenOver)
	hook := s.webhook(t, receiver.URL, "")
	s.executed(t)
	s.Deliver(t)
	got := receiver.requests()
	if len(got) != 2 || got[0].header.Get("Webhook-Id") != got[1].header.Get("Webhook-Id") {
		t.Errorf("%d requests, want two of one event", len(got))
	}
	deliveries := s.deliveriesOf(t, hook.ID)
	if len(deliveries) != 1 || len(deliveries[0].Attempts) != 1 || deliveries[0].State != api.DeliveryStateDelivered {
		t.Errorf("deliveries = %+v, want one with the attempt of the second process", deliveries)
	}
}
