package core_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestAllowance(t *testing.T) {
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
			got := http.Header{}
			for _, allowance := range tt.allowances {
				allowance.Announce(got)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
	if !requests.Allowed() || runs.Allowed() {
		t.Error("allowed = false without a wait or true with one, want it the other way round")
	}
}

func TestFirstIDAt(t *testing.T) {
	t.Parallel()
	before := time.Now()
	id, err := core.NewID()
	if err != nil {
		t.Fatal(err)
	}
	least, next := core.FirstIDAt(before), core.FirstIDAt(time.Now().Add(time.Millisecond))
	if id.String() < least.String() || id.String() >= next.String() {
		t.Errorf("id = %s, want one from %s to %s", id, least, next)
	}
}
