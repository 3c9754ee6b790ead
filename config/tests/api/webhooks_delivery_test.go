package api

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// Why attempts fail.
const (
	unreached = "Its name leads to no address that may be called."
	tooLate   = "It did not answer in time."
	cutOff    = "The connection ended before the answer."
)

// reception is what a receiver does with an event, and what becomes of that.
type reception struct {
	// answers are those to the first attempts; later ones are answered with 204.
	answers []http.HandlerFunc
	// url is where the webhook leads to instead of the receiver, and lost how many attempts get nowhere.
	url  func(tb testing.TB, receiver *url.URL) string
	lost int

	state    api.DeliveryState
	attempts []string
	// again is when the next attempt is due.
	again    time.Duration
	disabled bool
}

// refusing answers every attempt with the status.
func refusing(code int, why string) reception {
	return reception{
		answers: slices.Repeat([]http.HandlerFunc{status(code)}, 3), state: api.DeliveryStateFailed,
		attempts: slices.Repeat([]string{fmt.Sprintf("%d %s the answer %[1]d", code, why)}, 3),
	}
}

// leadingTo is at an address that must not be called.
func leadingTo(address string) reception {
	return reception{
		url: func(testing.TB, *url.URL) string { return address }, lost: 3, state: api.DeliveryStateFailed,
		attempts: slices.Repeat([]string{"0 " + unreached}, 3),
	}
}

// TestReceivers has receivers answer an event in every way. The event has one id at each attempt, and each attempt is
// kept with its status, the reason of its failure and the beginning of the answer.
func TestReceivers(t *testing.T) {
	t.Parallel()
	const delivered, failed, pending = api.DeliveryStateDelivered, api.DeliveryStateFailed, api.DeliveryStatePending
	always := func(answer http.HandlerFunc) []http.HandlerFunc { return slices.Repeat([]http.HandlerFunc{answer}, 3) }
	thrice := func(attempt string) []string { return slices.Repeat([]string{attempt}, 3) }
	for name, tt := range map[string]reception{
		"Accepts": {
			answers: always(status(200)), state: delivered,
			attempts: []string{"200 the answer 200"},
		},
		"AcceptsWithoutBody": {state: delivered, attempts: []string{"204"}},
		"AnswersForEver": {
			answers: always(gibibyte(t)), state: delivered,
			attempts: []string{"200 xxxxxxxxxxxxxxxxxxxx"},
		},
		"AnswersInNoText": {
			answers: always(say("\xffok\x00")), state: delivered,
			attempts: []string{"200 \ufffdok\ufffd"},
		},
		"BreaksOffInMidAnswer": {answers: always(breakOff("")), state: delivered, attempts: []string{"200 begun"}},
		"StopsInMidAnswer":     {answers: always(unfinished), state: delivered, attempts: []string{"200 begun"}},
		"DripsItsAnswer": {
			answers: always(drip), state: delivered,
			attempts: []string{"200 ...................."},
		},
		"IsDownAtFirst": {answers: []http.HandlerFunc{status(503), status(201)}, state: delivered, attempts: []string{
			"503 It answered with status 503. the answer 503", "201 the answer 201",
		}},
		"ActsTwice": {answers: []http.HandlerFunc{breakOff("HTTP/1.1 200")}, state: delivered, attempts: []string{
			"0 " + cutOff, "204",
		}},
		"AnswersTooLate": {answers: []http.HandlerFunc{silent, silent}, state: delivered, attempts: []string{
			"0 " + tooLate, "0 " + tooLate, "204",
		}},
		"Redirects":     refusing(301, "It redirects with status 301, which is not followed."),
		"RefusesAlways": refusing(400, "It answered with status 400."),
		"FailsAlways":   refusing(500, "It answered with status 500."),
		"HangsUp":       {answers: always(breakOff("HTTP/")), state: failed, attempts: thrice("0 " + cutOff)},
		"Babbles":       {answers: always(breakOff("200 fine\n")), state: failed, attempts: thrice("0 " + cutOff)},
		"DripsItsHead": {
			answers: []http.HandlerFunc{dripHead}, state: delivered,
			attempts: []string{"0 " + tooLate, "204"},
		},
		"WantsNoMore": {
			answers: always(status(410)), state: pending, disabled: true,
			attempts: []string{"410 It answered with status 410: it wants no more events. the answer 410"},
		},
		"IsBusyForSeconds": {answers: always(busy(429, "3600")), state: pending, attempts: []string{
			"429 It answered with status 429.",
		}, again: time.Hour},
		"IsBusyUntil": {
			answers: always(func(w http.ResponseWriter, r *http.Request) {
				busy(429, time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))(w, r)
			}), state: pending,
			attempts: []string{"429 It answered with status 429."}, again: time.Hour,
		},
		"IsDownForAMonth": {answers: always(busy(503, "2592000")), state: pending, attempts: []string{
			"503 It answered with status 503.",
		}, again: 24 * time.Hour},
		"SaysNoTime": {
			answers: always(busy(429, "soon")), state: failed,
			attempts: thrice("429 It answered with status 429."),
		},

		"ListensNoMore": {url: func(tb testing.TB, _ *url.URL) string {
			tb.Helper()
			closed := newReceiver(tb)
			closed.Close()
			return closed.URL
		}, lost: 3, state: failed, attempts: thrice("0 No connection could be made.")},
		"HasAWrongCertificate": {url: func(tb testing.TB, _ *url.URL) string {
			tb.Helper()
			untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
			untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
			untrusted.StartTLS()
			tb.Cleanup(untrusted.Close)
			return untrusted.URL
		}, lost: 3, state: failed, attempts: thrice("0 Its certificate is not valid.")},
		"SpeaksNoTLS": {
			url:  func(_ testing.TB, receiver *url.URL) string { return "https://" + receiver.Host },
			lost: 3, state: failed, attempts: thrice("0 It does not speak TLS."),
		},
		"IsPrivate":          leadingTo("https://10.0.0.1/"),
		"HasNoAddress":       leadingTo("https://nothing.example/"),
		"IsPrivateByItsName": leadingTo("https://private.example/"),
		"BecomesPrivate": {
			answers: always(busy(503, "")),
			url: func(_ testing.TB, receiver *url.URL) string {
				return "http://rebound.example:" + receiver.Port()
			},
			lost: 2, state: failed,
			attempts: []string{"503 It answered with status 503.", "0 " + unreached, "0 " + unreached},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := webhookStage(t)
			receiver := newReceiver(t, tt.answers...)
			address := receiver.URL
			if tt.url != nil {
				parsed, err := url.Parse(address)
				if err != nil {
					t.Fatal(err)
				}
				address = tt.url(t, parsed)
			}
			hook := s.webhook(t, address, "")
			s.executed(t)
			s.Deliver(t)
			deliveries := s.deliveriesOf(t, hook.ID)
			if len(deliveries) != 1 {
				t.Fatalf("deliveries = %+v, want one", deliveries)
			}
			got := deliveries[0]
			var attempts []string
			for _, a := range slices.Backward(got.Attempts) {
				attempts = append(attempts, strings.Join(strings.Fields(fmt.Sprintf("%d %s %.20s", a.Status, a.Reason,
					a.Excerpt)), " "))
				if len(a.Excerpt) > 1024 {
					t.Errorf("excerpt has %d bytes", len(a.Excerpt))
				}
			}
			if diff := cmp.Diff(tt.attempts, attempts); diff != "" || got.State != tt.state {
				t.Errorf("delivery is %s, want %s; attempts (-want +got):\n%s", got.State, tt.state, diff)
			}
			if next := time.Until(got.NextAttemptAt.Time); tt.again != 0 && (next-tt.again).Abs() > time.Minute {
				t.Errorf("the next attempt is in %s, want %s", next, tt.again)
			}
			made := fixture.Decoded[api.Webhook](t, s.Must(t, http.StatusOK,
				s.owner(http.MethodGet, "/api/webhooks/"+hook.ID+"/", "")))
			if (made.State == api.WebhookStateDisabled) != tt.disabled {
				t.Errorf("webhook is %s, want it disabled: %t", made.State, tt.disabled)
			}
			requests := receiver.requests()
			if len(requests) != len(tt.attempts)-tt.lost {
				t.Errorf("%d requests, want those of %d attempts without %d", len(requests), len(tt.attempts), tt.lost)
			}
			for _, request := range requests {
				if id := request.header.Get("Webhook-Id"); id != got.Event {
					t.Errorf("id = %s, want %s at each attempt", id, got.Event)
				}
			}
		})
	}
}

// say answers with 200 and a text.
func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// busy answers with a status and when to try again, on a connection that ends then.
func busy(code int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", retryAfter)
		w.WriteHeader(code)
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

// breakOff ends the connection after it has said something, or within an answer.
func breakOff(said string) http.HandlerFunc {
	if said == "" {
		said = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun"
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = io.WriteString(conn, said) // The test sees what arrives.
			_ = conn.Close()                  // The other side sees it.
		}
	}
}

// drip answers byte by byte until the other side gives up.
func drip(w http.ResponseWriter, _ *http.Request) {
	for _, err := io.WriteString(w, "."); err == nil; _, err = io.WriteString(w, ".") {
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		<-time.After(dripPause)
	}
}

// dripHead does so before the answer has begun.
func dripHead(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	for _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: "); err == nil; _, err = io.WriteString(conn, ".") {
		<-time.After(dripPause)
	}
}

const dripPause = 10 * time.Millisecond

// gibibyte answers with a gibibyte, of which the sender has to read no more than the beginning.
func gibibyte(tb testing.TB) http.HandlerFunc {
	tb.Helper()
	return func(w http.ResponseWriter, _ *http.Request) {
		const size, inBuffers = 1 << 30, 64 << 20
		w.Header().Set("Content-Length", strconv.Itoa(size))
		page := []byte(strings.Repeat("x", 1<<20))
		for sent := 0; sent < size; sent += len(page) {
			if _, err := w.Write(page); err != nil {
				return
			}
			if sent > inBuffers {
				tb.Error("more of an answer was read than can lie in buffers")
				return
			}
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
