package core_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	requests := core.Allowance{
		Policy:    core.RatePolicy{Name: "requests", Quota: 4000, Window: 2 * time.Second},
		Remaining: 3998, Reset: time.Millisecond,
	}
	runs := core.Allowance{
		Policy: core.RatePolicy{Name: "runs", Quota: 600, Window: time.Minute}, Wait: time.Second, Reset: time.Minute,
	}
	for _, tt := range []struct {
		name       string
		allowances []core.Allowance
		want       http.Header
	}{
		{"One", []core.Allowance{requests}, http.Header{
			"Ratelimit-Policy": {`"requests";q=4000;w=2`}, "Ratelimit": {`"requests";r=3998;t=1`},
		}},
		{"BothInOneLine", []core.Allowance{requests, runs}, http.Header{
			"Ratelimit-Policy": {`"requests";q=4000;w=2, "runs";q=600;w=60`},
			"Ratelimit":        {`"requests";r=3998;t=1, "runs";r=0;t=60`},
		}},
		{"NothingWithoutALimit", []core.Allowance{{}}, http.Header{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer := httptest.NewRecorder()
			c := echo.New().NewContext(httptest.NewRequest(http.MethodPost, "/", http.NoBody), answer)
			for _, allowance := range tt.allowances {
				err := core.Admit(c, limiter(allowance), uuid.New(), "Too many.")
				if refused := errors.Is(err, api.CodeRateLimited); refused != (allowance.Wait > 0) {
					t.Errorf("refusal = %v with a wait of %s", err, allowance.Wait)
				}
			}
			if diff := cmp.Diff(tt.want, answer.Header()); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

// limiter always says the same.
type limiter core.Allowance

func (l limiter) Allow(context.Context, uuid.UUID) core.Allowance { return core.Allowance(l) }

func TestFirstIDAt(t *testing.T) {
	t.Parallel()
	before := time.Now()
	id := core.NewID()
	least, next := core.FirstIDAt(before), core.FirstIDAt(time.Now().Add(time.Millisecond))
	if id.String() < least.String() || id.String() >= next.String() {
		t.Errorf("id = %s, want one from %s to %s", id, least, next)
	}
}
