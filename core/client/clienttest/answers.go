package clienttest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// keyLife is how long a key stands for its run.
const keyLife = 24 * time.Hour

// refusal is an error answer.
type refusal struct {
	code       api.Code
	status     int
	detail     string
	retryAfter time.Duration
}

// start is POST /api/workflows/{id}/start/.
func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	meaning, err := fingerprint(r)
	if err != nil {
		refuse(w, refusal{api.CodeInvalidPayload, http.StatusBadRequest, err.Error(), 0})
		return
	}
	if !s.pass(r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++
	key := r.Header.Get("Idempotency-Key")
	run, refused := s.settle(r.PathValue("id"), key, meaning, w.Header())
	switch {
	case refused != nil:
		refuse(w, *refused)
	case s.drops > 0:
		s.drops--
		breakOff(w)
	default:
		w.Header().Set("Location", "/api/runs/"+run.ID+"/")
		if key != "" {
			w.Header().Set("Idempotency-Key", key)
			w.Header().Set("Idempotency-Expires", time.Now().Add(keyLife).UTC().Format(http.TimeFormat))
		}
		write(w, http.StatusCreated, run)
	}
}

// settle finds the run of the key, or starts one.
func (s *Server) settle(workflow, key string, meaning [sha256.Size]byte, header http.Header) (api.Run, *refusal) {
	known, used := s.uses[key]
	switch {
	case s.busy > 0:
		s.busy--
		return api.Run{}, &refusal{
			api.CodeKeyInProgress, http.StatusConflict,
			"A request with this idempotency key is currently being processed.", time.Second,
		}
	case used && known.print != meaning:
		return api.Run{}, &refusal{
			api.CodeKeyReused, http.StatusUnprocessableEntity,
			"Idempotency key has already been used with a different request body.", 0,
		}
	case used:
		header.Set("Idempotent-Replayed", "true")
		header.Set("Original-Request-Id", known.requestID)
		return known.run, nil
	case s.left == 0:
		return api.Run{}, &refusal{
			api.CodeQuotaExceeded, http.StatusTooManyRequests, "The runs of this month are used.", time.Hour,
		}
	}
	run, err := s.admit(workflow, key, meaning, header.Get("Request-Id"))
	if err != nil {
		return run, &refusal{"internal_error", http.StatusInternalServerError, err.Error(), 0}
	}
	return run, nil
}

// admit starts a run. What is remembered is the run as it was started.
func (s *Server) admit(workflow, key string, meaning [sha256.Size]byte, requestID string) (api.Run, error) {
	run, err := newRun(workflow, key)
	if err != nil {
		return run, err
	}
	if s.left > 0 {
		s.left--
	}
	if key != "" {
		s.uses[key] = use{print: meaning, run: run, requestID: requestID}
	}
	now := run
	if !s.held {
		now = ended(run, s.result, s.steps)
	}
	s.runs = append(s.runs, now)
	return run, nil
}

// list is GET /api/runs/, newest first, in one page; idempotency_key narrows it.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("idempotency_key")
	found := []api.Run{}
	for _, run := range s.Runs() {
		if key == "" || key == string(run.IdempotencyKey) {
			run.Steps = []api.Step{}
			found = append([]api.Run{run}, found...)
		}
	}
	write(w, http.StatusOK, api.Page[api.Run]{Results: found})
}

// findings is GET /api/runs/{id}/findings/, the issues of the steps in one page.
func (s *Server) findings(w http.ResponseWriter, r *http.Request) {
	run, _, exists := s.find(r.PathValue("id"))
	if !exists {
		s.nothing(w, r)
		return
	}
	found := []api.Finding{}
	for _, step := range run.Steps {
		for _, issue := range step.Issues {
			found = append(found, api.Finding{StepID: step.StepID, Issue: issue})
		}
	}
	write(w, http.StatusOK, api.Page[api.Finding]{Results: found})
}

// read is GET /api/runs/{id}/, with ?wait=.
func (s *Server) read(w http.ResponseWriter, r *http.Request) {
	seconds, _ := strconv.Atoi(r.URL.Query().Get("wait")) // Without a number nothing is waited for.
	patience := time.NewTimer(time.Duration(seconds) * time.Second)
	defer patience.Stop()
	if !s.pass(r) {
		return
	}
	for {
		run, moved, found := s.find(r.PathValue("id"))
		if !found {
			s.nothing(w, r)
			return
		}
		if !run.Completed() && seconds > 0 {
			select {
			case <-moved:
				continue
			case <-r.Context().Done():
				return
			case <-patience.C:
			}
		}
		write(w, http.StatusOK, run)
		return
	}
}

// events is GET /api/runs/{id}/events/.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if !s.pass(r) {
		return
	}
	seen, _ := strconv.Atoi(r.Header.Get("Last-Event-ID")) // Without a number nothing was seen.
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		run, moved, found := s.find(r.PathValue("id"))
		if !found {
			s.nothing(w, r)
			return
		}
		for ; seen < len(story(run)); seen++ {
			next := story(run)[seen]
			data, err := json.Marshal(next.data)
			if err != nil {
				return
			}
			fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", seen+1, next.name, data)
		}
		if err := http.NewResponseController(w).Flush(); err != nil || run.Completed() {
			return
		}
		select {
		case <-moved:
		case <-r.Context().Done():
			return
		}
	}
}

type event struct {
	name string
	data any
}

// story is what has happened to a run.
func story(run api.Run) []event {
	bare := run
	bare.Steps = []api.Step{}
	told := []event{{client.EventRunCreated, bare}}
	if !run.Completed() {
		return told
	}
	for _, step := range run.Steps {
		step.Issues = []api.Issue{}
		told = append(told, event{client.EventStepCompleted, step})
	}
	return append(told, event{client.EventRunCompleted, bare})
}

// cancel is POST /api/runs/{id}/cancel/.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s.End(id, api.RunResultCanceled)
	run, _, found := s.find(id)
	switch {
	case !found:
		s.nothing(w, r)
	case run.Result != api.RunResultCanceled:
		refuse(w, refusal{api.CodeRunCompleted, http.StatusUnprocessableEntity, "The run has already ended.", 0})
	default:
		write(w, http.StatusOK, run)
	}
}

func (s *Server) nothing(w http.ResponseWriter, _ *http.Request) {
	refuse(w, refusal{api.CodeNotFound, http.StatusNotFound, "This URL does not exist.", 0})
}

// pass waits for the delay, and reports whether the client is still there.
func (s *Server) pass(r *http.Request) bool {
	s.mu.Lock()
	delay := s.delay
	s.mu.Unlock()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (s *Server) find(id string) (api.Run, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs {
		if run.ID == id {
			return run, s.moved, true
		}
	}
	return api.Run{}, s.moved, false
}

// fingerprint is of what a start means: its address, the parts of its form and their names, or its whole body.
func fingerprint(r *http.Request) ([sha256.Size]byte, error) {
	whole := sha256.New()
	fmt.Fprintf(whole, "%q", r.URL.RequestURI())
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" {
		_, err := io.Copy(whole, r.Body)
		return [sha256.Size]byte(whole.Sum(nil)), err
	}
	form := multipart.NewReader(r.Body, parameters["boundary"])
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			return [sha256.Size]byte(whole.Sum(nil)), nil
		}
		if err != nil {
			return [sha256.Size]byte{}, fmt.Errorf("read the form: %w", err)
		}
		content := sha256.New()
		if _, err := io.Copy(content, part); err != nil {
			return [sha256.Size]byte{}, fmt.Errorf("read the form: %w", err)
		}
		fmt.Fprintf(whole, "%q %q %q %x", part.FormName(), part.FileName(), part.Header.Get("Content-Type"),
			content.Sum(nil))
	}
}

func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // A client that has gone cannot be told anything.
}

func refuse(w http.ResponseWriter, r refusal) {
	if r.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(r.retryAfter.Seconds())))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	write(w, r.status, api.Problem{
		Type: "/docs/errors/" + string(r.code) + "/", Title: http.StatusText(r.status), Status: r.status,
		Detail: r.detail, Code: r.code, RequestID: w.Header().Get("Request-Id"),
		Retryable: r.code == api.CodeKeyInProgress,
	})
}

// breakOff cuts the connection without an answer.
func breakOff(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = connection.Close() // It is cut.
	}
}
