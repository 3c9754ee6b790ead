package quota

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	// billingTimeout bounds one call of the billing service.
	billingTimeout = 10 * time.Second
	maxBillingBody = 64 << 10
)

// Charge is the charge for one run beyond the quota.
type Charge struct {
	OrgID  uuid.UUID `json:"org_id"`
	RunID  uuid.UUID `json:"run_id"`
	Metric string    `json:"metric"`
	// Key is the Idempotency-Key: calls with one key are one charge.
	Key string `json:"-"`
}

// errBilling means that the outcome of a charge is unknown. Repeating it with the same key is safe.
var errBilling = errors.New("the billing service gave no definite answer")

// Billing is a client of the operator's billing service.
type Billing struct {
	url    string
	secret []byte
	client *http.Client
}

// NewBilling makes a Billing for the service at the address. Redirects are not followed: a charge goes
// where the operator says or nowhere.
func NewBilling(address, secret string) *Billing {
	return &Billing{url: address, secret: []byte(secret), client: &http.Client{
		Timeout:       billingTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Charge reports whether the charge was accepted (2xx) or declined (402). Every other answer, and none, is
// an error: the charge may have been made, and the call is to be repeated with the same key.
func (b *Billing) Charge(ctx context.Context, charge Charge) (bool, error) {
	body, err := json.Marshal(charge)
	if err != nil {
		return false, fmt.Errorf("encode a charge: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("make the billing request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", charge.Key)
	request.Header.Set(core.HeaderRun, charge.RunID.String())
	request.Header.Set(core.HeaderSignature, Sign(b.secret, time.Now(), charge, body))
	response, err := b.client.Do(request)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errBilling, err)
	}
	defer func() { _ = response.Body.Close() }() // Nothing more is wanted of it.
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxBillingBody)); err != nil {
		return false, fmt.Errorf("%w: %w", errBilling, err)
	}
	switch {
	case response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusMultipleChoices:
		return true, nil
	case response.StatusCode == http.StatusPaymentRequired:
		return false, nil
	default:
		return false, fmt.Errorf("%w: %s", errBilling, response.Status)
	}
}

// Sign returns the signature of a charge with its body at a time, as core.HeaderSignature carries it.
func Sign(secret []byte, at time.Time, charge Charge, body []byte) string {
	signer := core.NewSigner(core.Subject{
		Direction: core.DirectionCharge, Receipt: charge.Key, Run: charge.RunID.String(),
	}, at, secret)
	_, _ = signer.Write(body) // It never fails.
	return signer.Header()
}
