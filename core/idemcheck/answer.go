package idemcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"
)

// answer is what a request was answered.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
	// sent is when the request left, and came when the answer was there.
	sent, came time.Time
}

func (a answer) ok() bool { return a.err == nil && a.status/100 == 2 }

// refused answers say that the request itself is at fault.
func (a answer) refused() bool {
	return a.err == nil && a.status/100 == 4 && a.status != http.StatusTooManyRequests
}

// busy answers ask for another try, or are none.
func (a answer) busy() bool {
	switch a.status {
	case http.StatusConflict, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	default:
		return a.err != nil || a.status >= http.StatusInternalServerError
	}
}

// like reports whether the bodies mean the same.
func (a answer) like(other answer) bool {
	if bytes.Equal(a.body, other.body) {
		return true
	}
	var mine, others any
	return json.Unmarshal(a.body, &mine) == nil && json.Unmarshal(other.body, &others) == nil &&
		reflect.DeepEqual(mine, others)
}

// repeats reports whether the answer gives away the other one.
func (a answer) repeats(other answer) bool { return a.ok() && len(a.body) > 0 && a.like(other) }

// mark is the header by which the answer says that it is a replay.
func (a answer) mark() string {
	for name := range a.header {
		lower := strings.ToLower(name)
		if strings.Contains(lower, "replay") || strings.Contains(lower, "idempot") && strings.Contains(lower, "hit") {
			return name + ": " + a.header.Get(name)
		}
	}
	return ""
}

// marks reports whether the answer says that it is a replay of the first one.
func (a answer) marks(first answer) bool { return a.mark() != "" && a.mark() != first.mark() }

// shownAnswer is how much of an answer is shown.
const shownAnswer = 200

func (a answer) String() string {
	if a.err != nil {
		return "no answer: " + a.err.Error()
	}
	body := strings.Join(strings.Fields(string(a.body)), " ")
	if len(body) > shownAnswer {
		body = strings.ToValidUTF8(body[:shownAnswer], "") + "…"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", a.status, body))
}
