// Package validator is an external validator as the product expects one behind an http step, for tests and to try such
// steps with: it checks the signature of a call, and however often a call is made under one key it is one call with
// one answer.
//
// It keeps everything in memory and looks at no document. What goes wrong in a real one can be scripted.
package validator

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
	"github.com/simplevalidations/simplevalidations/core/coretest/faults"
)

// Behavior is what the validator does with one attempt of a call.
type Behavior string

// The behaviors. Those after Fail go wrong in some way; where they act first, the caller cannot know it.
const (
	Pass       Behavior = "pass"
	Fail       Behavior = "find an error"
	Promise    Behavior = "act, then promise a later answer"
	Hasty      Behavior = "act, then send the callback before the promise"
	Busy       Behavior = "be too busy, without acting"
	FailBefore Behavior = "fail before acting"
	DropBefore Behavior = "drop the connection before acting"
	Redirect   Behavior = "redirect before acting"
	Refuse     Behavior = "refuse the call"
	FailAfter  Behavior = "act, then fail"
	DropAfter  Behavior = "act, then drop the connection"
	Hang       Behavior = "act, then never answer"
	Truncate   Behavior = "act, then break off the answer"
	Garbage    Behavior = "act, then answer with what is no JSON"
	Drip       Behavior = "act, then answer byte by byte"
	Huge       Behavior = "act, then answer with a gibibyte"
	Compress   Behavior = "act, then answer compressed"
	Contradict Behavior = "act, then answer otherwise than before"
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

// Server is the validator. Its zero value is of no use; call New.
type Server struct {
	*faults.Plan[Behavior, Request]

	secret []byte

	mu    sync.Mutex // guards calls
	calls []Call
}

// New makes a Server that lets every document pass whose call is signed with the secret.
func New(secret string) *Server {
	return &Server{Plan: faults.NewPlan[Behavior, Request](Pass), secret: []byte(secret)}
}

// Calls returns the logical calls in the order in which they were acted on.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// ServeHTTP answers an attempt. A repetition is answered like the first attempt that was acted on; the same key with
// another body is refused.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, body, err := s.read(r)
	if err != nil {
		s.Refuse(w, http.StatusUnauthorized, err)
		return
	}
	behavior, hook := s.Next()
	hook(faults.Received, request)
	if failsBefore(w, r, behavior) {
		return
	}
	call, err := s.act(Call{Request: request, Attempts: 1, Passed: behavior != Fail, body: string(body)})
	if err != nil {
		s.Refuse(w, http.StatusUnprocessableEntity, err)
		return
	}
	hook(faults.Acted, request)
	s.answer(w, r, behavior, call)
	hook(faults.Answered, request)
}

func (s *Server) read(r *http.Request) (Request, []byte, error) {
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
func (s *Server) act(call Call) (Call, error) {
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
