package outside

import (
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

const maxBody = 64 << 20

// Request is the body of a call.
type Request struct {
	Key        string          `json:"key"`
	Receipt    string          `json:"receipt"`
	Run        string          `json:"run"`
	Step       string          `json:"step"`
	MediaType  string          `json:"media_type"`
	Filename   string          `json:"filename"`
	Size       int64           `json:"size"`
	Parameters json.RawMessage `json:"parameters"`
	Callback   struct {
		URL            string `json:"url"`
		TimeoutSeconds int    `json:"timeout_seconds"`
	} `json:"callback"`
	Content []byte `json:"content"`
}

// Call is one logical call: the first attempt under a key that the validator has acted on.
type Call struct {
	Request

	// Attempts is how often it was asked for.
	Attempts int
	// Passed is the result that it came to.
	Passed bool

	body string
}

// Validator is an external validator as the product expects one behind an http step: it checks the signature of a call,
// and however often a call is made under one key it is one call with one answer. It looks at no document. Its zero
// value is of no use; call NewValidator.
type Validator struct {
	*Plan[Request]

	secret []byte

	mu    sync.Mutex // guards calls
	calls []Call
}

// NewValidator makes a Validator that lets every document pass whose call is signed with the secret.
func NewValidator(secret string) *Validator {
	return &Validator{Plan: NewPlan[Request](Pass), secret: []byte(secret)}
}

// Calls returns the logical calls in the order in which they were acted on.
func (s *Validator) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// ServeHTTP answers an attempt. A repetition is answered like the first attempt that was acted on; the same key with
// another body is refused.
func (s *Validator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, body, err := s.read(r)
	if err != nil {
		s.Refuse(w, http.StatusUnauthorized, err)
		return
	}
	behavior, hook := s.Next()
	hook(Received, request)
	if failsBefore(w, r, behavior) {
		return
	}
	call, err := s.act(Call{Request: request, Attempts: 1, Passed: behavior != Fail, body: string(body)})
	if err != nil {
		s.Refuse(w, http.StatusUnprocessableEntity, err)
		return
	}
	hook(Acted, request)
	s.answer(w, r, behavior, call)
	hook(Answered, request)
}

func (s *Validator) read(r *http.Request) (Request, []byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return Request{}, nil, fmt.Errorf("read the body: %w", err)
	}
	subject := core.Subject{
		Direction: core.DirectionCall, Receipt: r.Header.Get(core.HeaderReceipt), Run: r.Header.Get(core.HeaderRun),
	}
	if err := core.VerifySignature(
		r.Header.Get(core.HeaderSignature), subject, body, time.Now(), s.secret,
	); err != nil {
		return Request{}, nil, err
	}
	var request Request
	if err := json.Unmarshal(body, &request); err != nil {
		return Request{}, nil, fmt.Errorf("decode the call: %w", err)
	}
	if request.Key == "" || request.Key != r.Header.Get("Idempotency-Key") {
		return Request{}, nil, errors.New("a call needs one key, in its Idempotency-Key and in its body")
	}
	return request, body, nil
}

// act does the work, or returns what was done under the key before.
func (s *Validator) act(call Call) (Call, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := slices.IndexFunc(s.calls, func(c Call) bool { return c.Key == call.Key })
	if known < 0 {
		s.calls = append(s.calls, call)
		return call, nil
	}
	s.calls[known].Attempts++
	if s.calls[known].body != call.body {
		return Call{}, errors.New("the key was used for another call")
	}
	return s.calls[known], nil
}
