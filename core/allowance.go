package core

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Limiter bounds how often each id may do something: a token, an organization, or the hash of an address.
type Limiter interface {
	// Allow counts one use by the id.
	Allow(ctx context.Context, id uuid.UUID) Allowance
}

// Allowance is what a rate limit says to one use of it.
type Allowance struct {
	// Wait is how long to wait before the next try; 0 when the use is allowed.
	Wait time.Duration
	// Policy is the limit that the use was counted against; the zero Policy where there is none, or where it could not
	// be asked.
	Policy RatePolicy
	// Remaining is how many uses are left, and Reset is when all of the quota will be there again.
	Remaining int
	Reset     time.Duration
}

// RatePolicy allows a number of uses within a time.
type RatePolicy struct {
	Name   string
	Quota  int
	Window time.Duration
}

// Allowed reports whether the use may go on.
func (a Allowance) Allowed() bool {
	return a.Wait <= 0
}

// Announce adds the limit to the header fields RateLimit-Policy and RateLimit
// (draft-ietf-httpapi-ratelimit-headers-10) of an answer.
func (a Allowance) Announce(header http.Header) {
	if a.Policy.Quota <= 0 {
		return
	}
	addItem(header, "RateLimit-Policy", a.Policy.Name, "q", a.Policy.Quota, "w", seconds(a.Policy.Window))
	addItem(header, "RateLimit", a.Policy.Name, "r", a.Remaining, "t", seconds(a.Reset))
}

// addItem adds an item with two parameters to a list (RFC 8941).
func addItem(header http.Header, field, name, first string, firstValue int, second string, secondValue int) {
	item := `"` + name + `";` + first + "=" + strconv.Itoa(firstValue) + ";" + second + "=" + strconv.Itoa(secondValue)
	if listed := header.Get(field); listed != "" {
		item = listed + ", " + item
	}
	header.Set(field, item)
}

// seconds rounds up: a client that comes back too early has to wait twice.
func seconds(d time.Duration) int {
	return int(math.Ceil(d.Seconds()))
}
