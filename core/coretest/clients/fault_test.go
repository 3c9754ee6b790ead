package clients

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// What a proxy can do with a request.
const (
	// pass forwards the request and its answer.
	pass = "pass"
	// dropBefore and resetBefore end the connection and forward nothing; a reset discards what is under way.
	dropBefore  = "drop_before"
	resetBefore = "reset_before"
	// dropAfter and resetAfter forward the request and end the connection in place of the answer.
	dropAfter  = "drop_after"
	resetAfter = "reset_after"
	// cut forwards the request and ends the connection in the middle of the answer's body.
	cut = "cut"
	// hang never answers and forwards nothing; late forwards the request and never answers.
	hang = "hang"
	late = "late"
	// answer answers in place of the service, answerAfter does so when the service has done its work.
	answer      = "answer"
	answerAfter = "answer_after"
	// answerEarly answers before the body has come, and reads nothing more.
	answerEarly = "answer_early"
	// cutEvents ends a stream of events after some events and the beginning of the next one.
	cutEvents = "cut_events"
	// buffer withholds an answer until it is complete.
	buffer = "buffer"
)

// Fault is what the proxy does with one request, or several in a row.
type Fault struct {
	Do string `json:"do"`
	// Times is for how many requests; 0 is one, and -1 is all that follow.
	Times  int `json:"times"`
	Status int `json:"status"`
	// Headers and Body may have $EVIL, the base URL of another server, and $DATE+5, the time in five seconds.
	Headers map[string]string `json:"headers"`
	// Problem is a problem document; its status, title, type, detail and request id are made where they are missing.
	Problem map[string]any `json:"problem"`
	// JSON is another document.
	JSON json.RawMessage `json:"json"`
	Body string          `json:"body"`
	// Events is how many events of a stream come through.
	Events int `json:"events"`
}

// write answers as the fault says.
func (f Fault) write(w http.ResponseWriter, evil string) {
	body := []byte(f.Body)
	switch {
	case f.Problem != nil:
		body = f.problem()
		w.Header().Set("Content-Type", "application/problem+json")
	case f.JSON != nil:
		body = f.JSON
		w.Header().Set("Content-Type", "application/json")
	}
	for name, value := range f.Headers {
		w.Header().Set(name, filled(value, evil))
	}
	w.WriteHeader(f.Status)
	_, _ = io.WriteString(w, filled(string(body), evil)) // The client sees what is missing.
}

func (f Fault) problem() []byte {
	problem := map[string]any{
		"type": "/docs/errors/x/", "title": http.StatusText(f.Status), "status": f.Status, "detail": "No.",
		"request_id": "0199e0a4-51c0-7f0a-8a4e-0f3c5d7b9aff", "retryable": false,
	}
	maps.Copy(problem, f.Problem)
	text, _ := json.Marshal(problem) //nolint:errchkjson // it came from JSON
	return text
}

func filled(text, evil string) string {
	text = strings.ReplaceAll(text, "$EVIL", evil)
	seconds, found := strings.CutPrefix(text, "$DATE+")
	if !found {
		return text
	}
	ahead, err := strconv.Atoi(seconds)
	if err != nil {
		return text
	}
	return time.Now().Add(time.Duration(ahead) * time.Second).UTC().Format(http.TimeFormat)
}
