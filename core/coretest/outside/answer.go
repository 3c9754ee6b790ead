package outside

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	dripPause       = 5 * time.Millisecond
	gibibyte        = 1 << 30
	pageSize        = 64 << 10
	truncatedLength = "1000"
)

// AnswerOf is the answer of a validator that lets the document pass or finds an error in it.
func AnswerOf(passed bool) string {
	if passed {
		return `{"result":"PASS","findings":[]}`
	}
	return `{"result":"FAIL","findings":[` +
		`{"severity":"ERROR","code":"demo.wrong","message":"The document is wrong","path":"/a","line":1}]}`
}

// CallBack sends the answer to a call later, signed at a time with a secret, and returns what it was answered with.
func CallBack(
	ctx context.Context, client *http.Client, request Request, answer, secret string, at time.Time,
) (int, bool, error) {
	return Send(ctx, client, request.Callback.URL, answer, SignCallback(request, answer, secret, at))
}

// SignCallback returns the signature of the answer to a call, at a time with a secret.
func SignCallback(request Request, answer, secret string, at time.Time) string {
	signer := core.NewSigner(core.Subject{
		Direction: core.DirectionCallback, Receipt: request.Receipt, Run: request.Run,
	}, at, []byte(secret))
	_, _ = io.WriteString(signer, answer) // It never fails.
	return signer.Header()
}

// Send sends an answer with a signature to the address of a callback, and returns what it was answered with.
func Send(ctx context.Context, client *http.Client, address, answer, signature string) (int, bool, error) {
	callback, err := http.NewRequestWithContext(ctx, http.MethodPost, address,
		bytes.NewBufferString(answer))
	if err != nil {
		return 0, false, fmt.Errorf("make the callback: %w", err)
	}
	callback.Header.Set("Content-Type", "application/json")
	callback.Header.Set(core.HeaderSignature, signature)
	response, err := client.Do(callback)
	if err != nil {
		return 0, false, fmt.Errorf("call back: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // Nothing more is wanted of it.
	var received struct {
		Accepted bool `json:"accepted"`
	}
	if err := json.NewDecoder(response.Body).Decode(&received); err != nil {
		return response.StatusCode, false, fmt.Errorf("read the answer to the callback: %w", err)
	}
	return response.StatusCode, received.Accepted, nil
}

// failsBefore reports whether the attempt ends before the service acts.
func failsBefore(w http.ResponseWriter, r *http.Request, behavior Behavior) bool {
	switch behavior {
	case Busy:
		w.Header().Set("Retry-After", "0")
		http.Error(w, "busy", http.StatusTooManyRequests)
	case FailBefore:
		http.Error(w, "out of order", http.StatusInternalServerError)
	case DropBefore:
		panic(http.ErrAbortHandler)
	case Redirect:
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect)
	case Refuse:
		http.Error(w, "this is nothing for me", http.StatusUnprocessableEntity)
	default:
		return false
	}
	return true
}

// failsAfter reports whether the caller does not get the answer although the service has acted.
func failsAfter(w http.ResponseWriter, behavior Behavior, answer string) bool {
	switch behavior {
	case FailAfter:
		http.Error(w, "out of order", http.StatusInternalServerError)
	case DropAfter:
		panic(http.ErrAbortHandler)
	case Truncate:
		w.Header().Set("Content-Length", truncatedLength)
		say(w, answer)
		panic(http.ErrAbortHandler)
	case Babble:
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(conn, "200 everything is fine\n") // Whether it arrives makes no difference.
		_ = conn.Close()                                        // As before.
	default:
		return false
	}
	return true
}

func (s *Validator) answer(w http.ResponseWriter, r *http.Request, behavior Behavior, call Call) {
	answer := AnswerOf(call.Passed)
	if failsAfter(w, behavior, answer) {
		return
	}
	switch behavior {
	case Promise:
		w.WriteHeader(http.StatusAccepted)
		say(w, "")
	case Hasty:
		// Who is not reached promises an answer that never comes.
		_, _, _ = CallBack(r.Context(), http.DefaultClient, call.Request, answer, string(s.secret), time.Now())
		w.WriteHeader(http.StatusAccepted)
	case Hang:
		<-r.Context().Done()
	case Garbage:
		say(w, "<html>PASS</html>")
	case Drip:
		drip(r.Context(), w)
	case Huge:
		flood(w, answer)
	case Compress:
		w.Header().Set("Content-Encoding", "gzip")
		say(w, answer)
	case Contradict:
		say(w, AnswerOf(call.Attempts%2 == 0))
	default:
		w.Header().Set("Content-Type", "application/json")
		say(w, answer)
	}
}

// say makes sure that what is said has left.
func say(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text)            // Who has gone asks again.
	_ = http.NewResponseController(w).Flush() // As before.
}

func drip(ctx context.Context, w http.ResponseWriter) {
	ticker := time.NewTicker(dripPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			say(w, " ")
		}
	}
}

// flood ends with an answer that could be used if it were not so long.
func flood(w http.ResponseWriter, answer string) {
	page := bytes.Repeat([]byte(" "), pageSize)
	for range gibibyte / pageSize {
		if _, err := w.Write(page); err != nil {
			return
		}
	}
	say(w, answer)
}
