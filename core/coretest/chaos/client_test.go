package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/docs"
)

const (
	answerPatience  = 30 * time.Second
	idleConnections = 200
)

// client sends requests with one token. It sends each once and leaves it to the caller to send it again.
type client struct {
	http  *http.Client
	token string
}

func newClient(tb testing.TB, token string) *client {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: idleConnections}
	tb.Cleanup(transport.CloseIdleConnections)
	return &client{http: &http.Client{Transport: transport, Timeout: answerPatience}, token: token}
}

// order is a request to start a run.
type order struct {
	workflow, key, mediaType string
	body                     []byte
}

func building(tb testing.TB, key string) order {
	tb.Helper()
	return order{workflow: "building", key: key, mediaType: "application/json", body: sample(tb, "good/building.json")}
}

// readings is an order for a document with findings.
func readings(tb testing.TB, key string) order {
	tb.Helper()
	document := sample(tb, "bad/meter-readings.csv")
	return order{workflow: "meter-readings", key: key, mediaType: "text/csv", body: document}
}

func sample(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := docs.Sample(name)
	if err != nil {
		tb.Fatalf("read sample: %v", err)
	}
	return text
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) created() bool  { return a.status == http.StatusCreated }
func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

func (a answer) problem() core.Problem {
	var p core.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		return core.Problem{Detail: string(a.body)}
	}
	return p
}

// run reads the id of the run that the answer shows.
func (a answer) run(tb testing.TB) uuid.UUID {
	tb.Helper()
	var shown struct {
		ID uuid.UUID `json:"id"`
	}
	if err := json.Unmarshal(a.body, &shown); err != nil || shown.ID == uuid.Nil {
		tb.Fatalf("answer %d is no run: %v: %s", a.status, err, a.body)
	}
	return shown.ID
}

// try sends an order once. An error means that the answer is not known.
func (c *client) try(ctx context.Context, base string, o order) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		base+"/api/workflows/"+o.workflow+"/start/", bytes.NewReader(o.body))
	if err != nil {
		return answer{}, fmt.Errorf("make a request: %w", err)
	}
	// Go's client sends a request with a key again by itself, and which answers came is what the tests are about.
	request.GetBody = nil
	request.Header.Set("Content-Type", o.mediaType)
	if o.key != "" {
		request.Header.Set("Idempotency-Key", o.key)
	}
	return c.do(request)
}

func (c *client) do(request *http.Request) (answer, error) {
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("send: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

// start sends an order once and has to get an answer.
func (c *client) start(tb testing.TB, base string, o order) answer {
	tb.Helper()
	a, err := c.try(tb.Context(), base, o)
	if err != nil {
		tb.Fatalf("start with key %q: %v", o.key, err)
	}
	return a
}

// get reads an address of the API and has to get an answer.
func (c *client) get(tb testing.TB, address string) answer {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		tb.Fatalf("make a request: %v", err)
	}
	a, err := c.do(request)
	if err != nil {
		tb.Fatalf("get %s: %v", address, err)
	}
	return a
}

// wantCreated demands a first answer.
func wantCreated(tb testing.TB, a answer) {
	tb.Helper()
	if !a.created() || a.replayed() {
		tb.Fatalf("answer = %d (replayed %t), want a first 201: %s", a.status, a.replayed(), a.body)
	}
}

// wantReplay demands the bytes of the first answer again.
func wantReplay(tb testing.TB, got, first answer) {
	tb.Helper()
	if !got.created() || !got.replayed() {
		tb.Fatalf("answer = %d (replayed %t), want a replayed 201: %s", got.status, got.replayed(), got.body)
	}
	if !bytes.Equal(got.body, first.body) {
		tb.Errorf("replay = %s, want %s", got.body, first.body)
	}
	for _, name := range []string{"Location", "Content-Type", "Idempotency-Expires"} {
		if got, want := got.header.Get(name), first.header.Get(name); got != want {
			tb.Errorf("replayed %s = %q, want %q", name, got, want)
		}
	}
	if got, want := got.header.Get("Original-Request-Id"), first.header.Get("Request-Id"); got != want {
		tb.Errorf("Original-Request-Id = %q, want %q", got, want)
	}
}

// wantProblem demands a refusal.
func wantProblem(tb testing.TB, a answer, status int, code core.Code) core.Problem {
	tb.Helper()
	p := a.problem()
	if a.status != status || p.Code != code {
		tb.Fatalf("answer = %d %s, want %d %s: %s", a.status, p.Code, status, code, a.body)
	}
	return p
}
