package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// timerGrain is by how much the timers of a client may be early.
const timerGrain = 20 * time.Millisecond

// check compares what a call has brought to what it has to bring.
func (p *prepared) check(tb testing.TB, got Outcome, want Expect) {
	tb.Helper()
	defer func() {
		if tb.Failed() {
			tb.Logf("outcome: %+v", got)
			for _, r := range p.proxy.Requests("") {
				tb.Logf("request: %s %s", r.Route, r.Path)
			}
		}
	}()
	if kind := kindOf(got, p.call.Op); kind != want.Outcome {
		tb.Errorf("outcome = %s, want %s", kind, want.Outcome)
	}
	p.checkError(tb, got, want)
	p.checkAttempts(tb, got, want)
	p.checkRequests(tb, got)
	p.checkRun(tb, got, want)
	p.checkRuns(tb, got, want)
	p.checkLists(tb, got, want)
	p.checkGaps(tb, want)
	if want.Form != nil {
		p.checkForm(tb, *want.Form)
	}
}

func kindOf(got Outcome, op string) string {
	creates := op == "start" || op == "run" || op == "rerun"
	switch {
	case !got.OK:
		return got.Error
	case creates && got.Replayed:
		return "replayed"
	case creates:
		return "created"
	default:
		return "ok"
	}
}

func (p *prepared) checkError(tb testing.TB, got Outcome, want Expect) {
	tb.Helper()
	if want.Status != 0 && got.Status != want.Status {
		tb.Errorf("status = %d, want %d", got.Status, want.Status)
	}
	if want.Code != nil && got.Code != *want.Code {
		tb.Errorf("code = %q, want %q", got.Code, *want.Code)
	}
	if want.Retryable != nil && got.Retryable != *want.Retryable {
		tb.Errorf("retryable = %t, want %t", got.Retryable, *want.Retryable)
	}
	if got.RetryAfterMS < want.RetryAfterMinMS {
		tb.Errorf("retry_after_ms = %d, want at least %d", got.RetryAfterMS, want.RetryAfterMinMS)
	}
	if !got.OK && bytes.Contains([]byte(got.Text), []byte(p.call.Token)) {
		tb.Errorf("text = %q, want it without the token", got.Text)
	}
}

func (p *prepared) checkAttempts(tb testing.TB, got Outcome, want Expect) {
	tb.Helper()
	if want.Attempts != 0 && got.Attempts != want.Attempts {
		tb.Errorf("attempts = %d, want %d", got.Attempts, want.Attempts)
	}
	if got.Attempts < want.AttemptsMin || want.AttemptsMax != 0 && got.Attempts > want.AttemptsMax {
		tb.Errorf("attempts = %d, want from %d to %d", got.Attempts, want.AttemptsMin, want.AttemptsMax)
	}
	for route, n := range want.Sent {
		if sent := len(p.proxy.Requests(route)); sent != n {
			tb.Errorf("requests to %s = %d, want %d", route, sent, n)
		}
	}
	sent := p.proxy.Requests("start")[p.before:]
	if len(sent) > 0 && len(sent) != got.Attempts {
		tb.Errorf("starts that came = %d, want the %d that are reported", len(sent), got.Attempts)
	}
}

// checkRequests demands the token in all requests, and one key and one body in those that start a run.
func (p *prepared) checkRequests(tb testing.TB, got Outcome) {
	tb.Helper()
	for _, r := range p.proxy.Requests("") {
		if r.Header.Get("Authorization") != "Bearer "+p.call.Token {
			tb.Errorf("authorization of %s = %q, want the token", r.Path, r.Header.Get("Authorization"))
		}
		creates := r.Route == "start" || r.Route == "rerun"
		if keys := r.Header.Values("Idempotency-Key"); creates && !slices.Equal(keys, []string{got.Key}) {
			tb.Errorf("keys of %s = %q, want %q once", r.Path, keys, got.Key)
		}
	}
	if len(p.starts()) > 0 {
		p.checkKey(tb, got.Key)
	}
	digest := ""
	for _, r := range p.starts()[p.before:] {
		if r.Digest != "" && digest != "" && r.Digest != digest {
			tb.Errorf("digests of the bodies = %s and %s, want the same", digest, r.Digest)
		}
		digest = r.Digest
	}
}

// starts are the requests that start runs.
func (p *prepared) starts() []Request {
	return append(p.proxy.Requests("start"), p.proxy.Requests("rerun")...)
}

func (p *prepared) checkKey(tb testing.TB, key string) {
	tb.Helper()
	if p.call.Args.Key != "" {
		if key != p.call.Args.Key {
			tb.Errorf("key = %q, want %q", key, p.call.Args.Key)
		}
		return
	}
	if id, err := uuid.Parse(key); err != nil || id.Version() != 7 || id.String() != key {
		tb.Errorf("key = %q, want a UUIDv7", key)
	}
	if p.call.Args.KeyFile != "" {
		kept, err := os.ReadFile(p.call.Args.KeyFile)
		if err != nil || string(bytes.TrimSpace(kept)) != key {
			tb.Errorf("key in the file = %q and error %v, want %q", kept, err, key)
		}
	}
}

func (p *prepared) checkRun(tb testing.TB, got Outcome, want Expect) {
	tb.Helper()
	switch want.RunID {
	case "":
	case "given":
		if got.RunID != p.given {
			tb.Errorf("run_id = %q, want %s", got.RunID, p.given)
		}
	case "some":
		if _, err := uuid.Parse(got.RunID); err != nil {
			tb.Errorf("run_id = %q, want an id", got.RunID)
		}
	case "none":
		if got.RunID != "" {
			tb.Errorf("run_id = %q, want none", got.RunID)
		}
	default:
		if got.RunID != want.RunID {
			tb.Errorf("run_id = %q, want %s", got.RunID, want.RunID)
		}
	}
	if want.State != "" && got.State != want.State || want.Result != "" && got.Result != want.Result {
		tb.Errorf("run = %s %s, want %s %s", got.State, got.Result, want.State, want.Result)
	}
	times := map[string]*string{"created_at": got.CreatedAt, "started_at": got.StartedAt, "ended_at": got.EndedAt}
	for name, kind := range want.Times {
		if at := times[name]; (at == nil) != (kind == "null") {
			tb.Errorf("%s = %v, want it %s", name, at, kind)
		}
	}
}

func (p *prepared) checkRuns(tb testing.TB, got Outcome, want Expect) {
	tb.Helper()
	if want.Runs == nil {
		return
	}
	runs := program.Count(tb, p.world.DB,
		"SELECT count(*) FROM validation_runs WHERE idempotency_key = $1", got.Key)
	if runs != *want.Runs {
		tb.Errorf("runs with key %s = %d, want %d", got.Key, runs, *want.Runs)
	}
}

func (p *prepared) checkLists(tb testing.TB, got Outcome, want Expect) {
	tb.Helper()
	if want.Items != nil {
		seen := slices.Compact(slices.Sorted(slices.Values(got.Items)))
		if len(got.Items) != *want.Items || len(seen) != *want.Items {
			tb.Errorf("items = %v, want %d different ones", got.Items, *want.Items)
		}
	}
	if want.Events != nil {
		if diff := cmp.Diff(want.Events, got.Events); diff != "" {
			tb.Errorf("events (-want +got):\n%s", diff)
		}
	}
	if want.LastEventIDs != nil {
		var ids []string
		for _, r := range p.proxy.Requests("events") {
			ids = append(ids, r.Header.Get("Last-Event-ID"))
		}
		if diff := cmp.Diff(want.LastEventIDs, ids); diff != "" {
			tb.Errorf("Last-Event-ID (-want +got):\n%s", diff)
		}
	}
}

func (p *prepared) checkGaps(tb testing.TB, want Expect) {
	tb.Helper()
	starts := p.starts()
	for i, gap := range want.GapsMS {
		if len(starts) <= i+1 {
			tb.Errorf("starts = %d, want more than %d", len(starts), i+1)
			return
		}
		waited := starts[i+1].Came.Sub(starts[i].Answered)
		if least := time.Duration(gap) * time.Millisecond; waited < least-timerGrain {
			tb.Errorf("wait %d = %s, want at least %s", i+1, waited, least)
		}
	}
}

// checkForm reads the form of the last start.
func (p *prepared) checkForm(tb testing.TB, want Form) {
	tb.Helper()
	starts := p.starts()
	last := starts[len(starts)-1]
	_, parameters, err := mime.ParseMediaType(last.Header.Get("Content-Type"))
	if err != nil {
		tb.Fatal(err)
	}
	var got Form
	form := multipart.NewReader(bytes.NewReader(last.Body), parameters["boundary"])
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			tb.Fatal(err)
		}
		switch part.FormName() {
		case "file":
			got.Filename, got.MediaType = part.FileName(), part.Header.Get("Content-Type")
			if digest := fmt.Sprintf("%x", sha256.Sum256(content)); digest != p.documentDigest(tb) {
				tb.Errorf("digest of the document = %s, want %s", digest, p.documentDigest(tb))
			}
		case "name":
			got.Name = string(content)
		case "short_description":
			got.ShortDescription = string(content)
		case "metadata":
			if err := json.Unmarshal(content, &got.Metadata); err != nil {
				tb.Errorf("metadata = %q, want JSON", content)
			}
		default:
			tb.Errorf("part = %s, want none such", part.FormName())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("form (-want +got):\n%s", diff)
	}
}

func (p *prepared) documentDigest(tb testing.TB) string {
	tb.Helper()
	var content []byte
	var err error
	if p.call.Args.File != "" {
		content, err = os.ReadFile(p.call.Args.File)
	} else {
		content, err = base64.StdEncoding.DecodeString(p.call.Args.ContentBase64)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}
