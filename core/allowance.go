package core

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// Limiter bounds how often each id may do something: a token, an organization, or the hash of an address.
type Limiter interface {
	// Allow counts one use by the id.
	Allow(ctx context.Context, id uuid.UUID) Allowance
}

// Admit counts one use of a limit by the id of whoever sends the request, and adds the limit to the header fields
// RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10) of the answer. It answers rate_limited, with
// the sentence, where that is one too many.
func Admit(c echo.Context, limiter Limiter, id uuid.UUID, refusal string) error {
	allowance := limiter.Allow(c.Request().Context(), id)
	allowance.announce(c.Response().Header())
	if allowance.Wait > 0 {
		return RateLimited(refusal, allowance.Wait)
	}
	return nil
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

// announce adds an item (RFC 8941) to each of the two lists.
func (a Allowance) announce(header http.Header) {
	if a.Policy.Quota <= 0 {
		return
	}
	add := func(field, count string, n int, period string, d time.Duration) {
		item := `"` + a.Policy.Name + `";` + count + strconv.Itoa(n) + period + strconv.Itoa(seconds(d))
		if listed := header.Get(field); listed != "" {
			item = listed + ", " + item
		}
		header.Set(field, item)
	}
	add("RateLimit-Policy", "q=", a.Policy.Quota, ";w=", a.Policy.Window)
	add("RateLimit", "r=", a.Remaining, ";t=", a.Reset)
}

// seconds rounds up: a client that comes back too early has to wait twice.
func seconds(d time.Duration) int {
	return int(math.Ceil(d.Seconds()))
}
