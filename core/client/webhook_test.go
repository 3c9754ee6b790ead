package client_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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

// TestVerifyAgreesWithThePublicLibrary changes random requests and asks both.
func TestVerifyAgreesWithThePublicLibrary(t *testing.T) {
	t.Parallel()
	public, err := standardwebhooks.NewWebhook(webhookSecret)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		bytes := make([]byte, random.IntN(300))
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		return base64.StdEncoding.EncodeToString(bytes) + strings.ToValidUTF8(string(bytes), "ü")
	}
	const requests = 1000
	accepted := 0
	for n := range requests {
		want := api.Event{
			ID: fmt.Sprint("event-", n), Type: api.EventTypeRunCompleted, Data: map[string]any{"x": text()},
		}
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		// Near the limit both could disagree by the time between them.
		const farthest, nearLimit = 400, 10
		seconds := random.IntN(2*farthest) - farthest
		if off := max(seconds, -seconds); off > 300-nearLimit && off < 300+nearLimit {
			seconds = 0
		}
		header := signedWebhook(t, want.ID, time.Now().Add(time.Duration(seconds)*time.Second), body)
		flip := func(name string) {
			value := []byte(header.Get(name))
			// The last character of base64 has bits that are not used.
			value[random.IntN(len(value)-2)] ^= 1
			header.Set(name, string(value))
		}
		switch random.IntN(10) {
		case 0:
			body[random.IntN(len(body))] ^= 1
		case 1:
			flip("Webhook-Id")
		case 2:
			flip("Webhook-Signature")
		case 3:
			header.Del([]string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"}[random.IntN(3)])
		case 4:
			header.Set("Webhook-Signature", "v1,"+text()+" "+header.Get("Webhook-Signature"))
		case 5:
			header.Set("Webhook-Signature", "v2"+header.Get("Webhook-Signature")[2:])
		}
		got, err := client.WebhookReceiver{Secrets: []string{webhookSecret}}.Verify(header, body)
		if other := public.Verify(body, header); (err == nil) != (other == nil) {
			t.Fatalf("request %d: error = %v, want %v; %v %s", n, err, other, header, body)
		}
		if err == nil {
			accepted++
			if got.ID != want.ID || got.Data["x"] != want.Data["x"] {
				t.Errorf("request %d: event = %+v, want %+v", n, got, want)
			}
		}
	}
	if accepted < requests/4 || accepted > requests*3/4 {
		t.Errorf("accepted = %d of %d, want both often", accepted, requests)
	}
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
