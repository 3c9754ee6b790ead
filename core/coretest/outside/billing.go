package outside

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

const maxCharge = 64 << 10

// Charge is one logical charge.
type Charge struct {
	Key      string `json:"-"`
	OrgID    string `json:"org_id"`
	RunID    string `json:"run_id"`
	Metric   string `json:"metric"`
	Declined bool   `json:"-"`

	body []byte
}

// Billing is a billing service: it checks the signature of a call, and however often a charge is asked for under one
// key it is made once. Its zero value is of no use; call NewBilling.
type Billing struct {
	*Plan[Charge]

	secret []byte

	mu      sync.Mutex // guards charges
	charges []Charge
}

// NewBilling makes a Billing that accepts every charge that is signed with the secret.
func NewBilling(secret string) *Billing {
	return &Billing{Plan: NewPlan[Charge](Accept), secret: []byte(secret)}
}

// Charges returns the logical charges in the order in which they were made.
func (s *Billing) Charges() []Charge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.charges)
}

// ServeHTTP answers a call: 200 for a charge that is made, 402 for one that is declined. A repetition is answered like
// the first call; the same key with another body is refused.
func (s *Billing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	charge, err := s.read(r)
	if err != nil {
		s.Refuse(w, http.StatusUnauthorized, err)
		return
	}
	behavior, hook := s.Next()
	hook(Received, charge)
	if failsBefore(w, r, behavior) {
		return
	}
	charge.Declined = behavior == Decline
	made, err := s.charge(charge)
	if err != nil {
		s.Refuse(w, http.StatusUnprocessableEntity, err)
		return
	}
	hook(Acted, made)
	answerCharge(w, behavior, made)
	hook(Answered, made)
}

func (s *Billing) read(r *http.Request) (Charge, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxCharge))
	if err != nil {
		return Charge{}, fmt.Errorf("read the body: %w", err)
	}
	charge := Charge{Key: r.Header.Get("Idempotency-Key"), RunID: r.Header.Get(core.HeaderRun), body: body}
	subject := core.Subject{Direction: "charge", Receipt: charge.Key, Run: charge.RunID}
	if err := core.VerifySignature(
		r.Header.Get(core.HeaderSignature), subject, body, time.Now(), s.secret,
	); err != nil {
		return Charge{}, err
	}
	if charge.Key == "" {
		return Charge{}, errors.New("a charge needs an Idempotency-Key")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&charge); err != nil {
		return Charge{}, fmt.Errorf("decode the charge: %w", err)
	}
	return charge, nil
}

// charge makes the charge, or returns what was made of its key before.
func (s *Billing) charge(charge Charge) (Charge, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := slices.IndexFunc(s.charges, func(c Charge) bool { return c.Key == charge.Key })
	if known < 0 {
		s.charges = append(s.charges, charge)
		return charge, nil
	}
	if !bytes.Equal(s.charges[known].body, charge.body) {
		return Charge{}, errors.New("the key was used for another charge")
	}
	return s.charges[known], nil
}

func answerCharge(w http.ResponseWriter, behavior Behavior, made Charge) {
	if failsAfter(w, behavior, "{}") {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if made.Declined {
		w.WriteHeader(http.StatusPaymentRequired)
	}
	say(w, "{}")
}
