package client

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

const (
	// tolerance is how far the clocks of both sides may be apart, with the way between them.
	tolerance = 5 * time.Minute
	// maxWebhook bounds the body of a webhook.
	maxWebhook = 1 << 20
	// minSecret is the length of the shortest secret by Standard Webhooks, in bytes.
	minSecret = 24
)

// WebhookReceiver receives the events of a webhook, which are signed as Standard Webhooks describes.
type WebhookReceiver struct {
	// Secrets are what the service has shown: a secret whsec_… or a public key whpk_…. One of them has to fit, so while
	// a secret is rotated both may be given.
	Secrets []string
	// Now is the clock that the time of a request is compared to; nil for that of this machine.
	Now func() time.Time
}

// VerificationError says what is wrong with a request that is no webhook of the service.
type VerificationError struct {
	// Reason is the message. It names the part that is wrong.
	Reason string
}

// Error returns the reason.
func (e *VerificationError) Error() string { return e.Reason }

func unverified(format string, args ...any) error {
	return &VerificationError{Reason: fmt.Sprintf(format, args...)}
}

// Verify returns the event of a request, whose body must be as it came. The error of a request that is not one of the
// service, or that is more than five minutes old, is a *VerificationError. Any other error is that of the secrets.
func (r WebhookReceiver) Verify(header http.Header, body []byte) (api.Event, error) {
	var event api.Event
	keys, err := r.keys()
	if err != nil {
		return event, err
	}
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		if header.Get(name) == "" {
			return event, unverified("the header %s is missing", name)
		}
	}
	at := header.Get("webhook-timestamp")
	if err := r.checkTime(at); err != nil {
		return event, err
	}
	content := append([]byte(header.Get("webhook-id")+"."+at+"."), body...)
	signatures := strings.Split(header.Get("webhook-signature"), " ")
	if !slices.ContainsFunc(keys, func(key webhookKey) bool {
		return slices.ContainsFunc(signatures, func(signature string) bool { return key.fits(content, signature) })
	}) {
		return event, unverified("the header webhook-signature has no signature of this request by a given secret")
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return event, unverified("the body is not an event: %v", err)
	}
	if event.ID == "" || event.Type == "" {
		return event, unverified("the body is not an event: it has no id or no type")
	}
	return event, nil
}

func (r WebhookReceiver) checkTime(text string) error {
	const bits = 63
	seconds, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		return unverified("the header webhook-timestamp is not a number of seconds")
	}
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	switch age := now().Sub(time.Unix(int64(seconds), 0)); {
	case age > tolerance:
		return unverified("the header webhook-timestamp is more than 5 minutes ago")
	case age < -tolerance:
		return unverified("the header webhook-timestamp is more than 5 minutes ahead")
	}
	return nil
}

// webhookKey is a secret without its prefix.
type webhookKey struct {
	// public says that it is the public key of Ed25519, and not the key of an HMAC.
	public bool
	bytes  []byte
}

func (r WebhookReceiver) keys() ([]webhookKey, error) {
	if len(r.Secrets) == 0 {
		return nil, errors.New("there is no secret to verify webhooks with")
	}
	keys := make([]webhookKey, 0, len(r.Secrets))
	for _, secret := range r.Secrets {
		kind, text, _ := strings.Cut(secret, "_")
		key, err := base64.StdEncoding.DecodeString(text)
		public := kind == "whpk" && len(key) == ed25519.PublicKeySize
		secretive := kind == "whsec" && len(key) >= minSecret
		if err != nil || !secretive && !public {
			// It does not show the secret.
			return nil, errors.New("a secret of webhooks is not whsec_ or whpk_ and a key in base64")
		}
		keys = append(keys, webhookKey{public, key})
	}
	return keys, nil
}

// fits reports whether it is a signature of the content by the key.
func (k webhookKey) fits(content []byte, signature string) bool {
	version, text, _ := strings.Cut(signature, ",")
	given, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return false
	case k.public:
		return version == "v1a" && ed25519.Verify(k.bytes, content, given)
	}
	sum := hmac.New(sha256.New, k.bytes)
	_, _ = sum.Write(content) // A hash never fails.
	return version == "v1" && hmac.Equal(sum.Sum(nil), given)
}

// Handler hands each event to a function. It answers with 204 when the function returns, with 500 when that fails, so
// that the event is sent again, with 400 to what is no webhook of the service, and with 413 to more than 1 MiB.
//
// An event may come more than once, and in another order than it happened: its id tells.
func (r WebhookReceiver) Handler(handle func(ctx context.Context, event api.Event) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxWebhook))
		if err != nil {
			http.Error(w, "the body has more than 1 MiB, or ended too early", http.StatusRequestEntityTooLarge)
			return
		}
		event, err := r.Verify(request.Header, body)
		if err != nil {
			status := http.StatusInternalServerError
			if _, refused := errors.AsType[*VerificationError](err); refused {
				status = http.StatusBadRequest
			}
			http.Error(w, err.Error(), status)
			return
		}
		if handle(request.Context(), event) != nil {
			// The sender reads the answer, and is not to know why.
			http.Error(w, "the event could not be handled", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}
