// Package billing is a billing service as the product expects one from its operator, for tests and to try overage
// billing with: it checks the signature of a call, and however often a charge is asked for under one key it is
// made once.
//
// It keeps everything in memory and moves no money. What goes wrong in a real one can be scripted.
package billing

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

	"github.com/simplevalidations/simplevalidations/core/coretest/faults"
)

// Behavior is what the service does with one call.
type Behavior string

// The behaviors. Those that fail after acting have made the charge, and the caller cannot know it.
const (
	Accept     Behavior = "accept"
	Decline    Behavior = "decline"
	FailBefore Behavior = "fail before acting"
	FailAfter  Behavior = "fail after acting"
	Garbage    Behavior = "act, then answer with what is no HTTP"
	Truncate   Behavior = "act, then break off the answer"
	DropBefore Behavior = "drop the connection before acting"
	DropAfter  Behavior = "drop the connection after acting"
	Redirect   Behavior = "redirect before acting"
)

const (
	maxBody         = 64 << 10
	truncatedLength = "100"
)

// Charge is one logical charge.
type Charge struct {
	Key      string `json:"-"`
	OrgID    string `json:"org_id"`
	RunID    string `json:"run_id"`
	Metric   string `json:"metric"`
	Declined bool   `json:"-"`

	body []byte
}

// Server is the service. Its zero value is of no use; call New.
type Server struct {
	*faults.Plan[Behavior, Charge]

	secret []byte

	mu      sync.Mutex // guards charges
	charges []Charge
}

// New makes a Server that accepts every charge that is signed with the secret.
func New(secret string) *Server {
	return &Server{Plan: faults.NewPlan[Behavior, Charge](Accept), secret: []byte(secret)}
}

// Charges returns the logical charges in the order in which they were made.
func (s *Server) Charges() []Charge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.charges)
}

// ServeHTTP answers a call: 200 for a charge that is made, 402 for one that is declined. A repetition is answered like
// the first call; the same key with another body is refused.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	charge, err := s.read(r)
	if err != nil {
		s.Refuse(w, http.StatusUnauthorized, err)
		return
	}
	behavior, hook := s.Next()
	hook(faults.Received, charge)
	if failsBefore(w, r, behavior) {
		return
	}
	charge.Declined = behavior == Decline
	made, err := s.charge(charge)
	if err != nil {
		s.Refuse(w, http.StatusUnprocessableEntity, err)
		return
	}
	hook(faults.Acted, made)
	answer(w, behavior, made)
	hook(faults.Answered, made)
}

func (s *Server) read(r *http.Request) (Charge, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return Charge{}, fmt.Errorf("read the body: %w", err)
	}
	charge := Charge{Key: r.Header.Get("Idempotency-Key"), RunID: r.Header.Get("Sv-Run"), body: body}
	if err := Verify(s.secret, r.Header.Get(HeaderSignature), charge, body, time.Now()); err != nil {
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
func (s *Server) charge(charge Charge) (Charge, error) {
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

// failsBefore reports whether the call ends before the charge is made.
func failsBefore(w http.ResponseWriter, r *http.Request, behavior Behavior) bool {
	switch behavior {
	case FailBefore:
		http.Error(w, "out of order", http.StatusInternalServerError)
	case DropBefore:
		panic(http.ErrAbortHandler)
	case Redirect:
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	default:
		return false
	}
	return true
}

// answer answers and makes sure that the answer has left, where there is one.
func answer(w http.ResponseWriter, behavior Behavior, made Charge) {
	switch behavior {
	case FailAfter:
		http.Error(w, "out of order", http.StatusInternalServerError)
	case Garbage:
		babble(w)
		return
	case DropAfter:
		panic(http.ErrAbortHandler)
	case Truncate:
		w.Header().Set("Content-Length", truncatedLength)
		w.WriteHeader(http.StatusOK)
		flush(w)
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("Content-Type", "application/json")
		if made.Declined {
			w.WriteHeader(http.StatusPaymentRequired)
		}
		_, _ = io.WriteString(w, "{}\n") // Who has gone asks again.
	}
	flush(w)
}

func babble(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(conn, "200 everything is fine\n") // Whether it arrives makes no difference.
	_ = conn.Close()                                        // As before.
}

func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // Who has gone asks again.
}
