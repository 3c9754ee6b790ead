package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// signedWebhook is a request with an event, signed by the public library.
func signedWebhook(tb testing.TB, id string, at time.Time, body []byte) http.Header {
	tb.Helper()
	signer, err := standardwebhooks.NewWebhook(webhookSecret)
	if err != nil {
		tb.Fatal(err)
	}
	signature, err := signer.Sign(id, at, body)
	if err != nil {
		tb.Fatal(err)
	}
	header := make(http.Header)
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	header.Set("Webhook-Signature", signature)
	return header
}

func TestWebhookHandler(t *testing.T) {
	t.Parallel()
	const body = `{"id":"event-1","type":"run.completed","data":{"run":"r"}}`
	long := `{"id":"event-1","type":"run.completed","data":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
	for name, c := range map[string]struct {
		signed, sent, secret string
		failure              error
		status               int
		answer               string
		handled              bool
	}{
		"Event":    {signed: body, sent: body, status: http.StatusNoContent, handled: true},
		"Tampered": {signed: body, sent: body + " ", status: http.StatusBadRequest, answer: "webhook-signature"},
		"TooLong":  {signed: long, sent: long, status: http.StatusRequestEntityTooLarge, answer: "1 MiB"},
		"NoEvent":  {signed: `{}`, sent: `{}`, status: http.StatusBadRequest, answer: "not an event"},
		"BadSecret": {
			signed: body, sent: body, secret: "whsec_", status: http.StatusInternalServerError,
			answer: "a secret of webhooks",
		},
		"Fails": {
			signed: body, sent: body, failure: errors.New("no disk"), status: http.StatusInternalServerError,
			answer: "the event could not be handled\n", handled: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := webhookSecret
			if c.secret != "" {
				secret = c.secret
			}
			var got []api.Event
			handler := client.WebhookReceiver{Secrets: []string{secret}}.Handler(
				func(_ context.Context, event api.Event) error {
					got = append(got, event)
					return c.failure
				})
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks", strings.NewReader(c.sent))
			request.Header = signedWebhook(t, "event-1", time.Now(), []byte(c.signed))
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.answer) {
				t.Errorf("answer = %d %q, want %d %q", answer.Code, answer.Body, c.status, c.answer)
			}
			if c.handled != (len(got) == 1 && got[0].ID == "event-1" && got[0].Data["run"] == "r") {
				t.Errorf("events = %+v, want one: %t", got, c.handled)
			}
		})
	}
}
