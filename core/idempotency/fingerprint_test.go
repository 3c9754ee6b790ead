package idempotency_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	t.Run("CoversEveryPart", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct {
			name   string
			change func(*idempotency.Request)
			want   []string
		}{
			{"nothing", func(*idempotency.Request) {}, nil},
			{"order of options", func(r *idempotency.Request) { slices.Reverse(r.Options) }, nil},
			{"method", func(r *idempotency.Request) { r.Method = "PUT" }, []string{"thing"}},
			{"endpoint", func(r *idempotency.Request) { r.Endpoint = "run_rerun" }, []string{"thing"}},
			{"target", func(r *idempotency.Request) { r.Target = "other" }, []string{"thing"}},
			{"version", func(r *idempotency.Request) { r.Version, r.VersionGiven = "2", true }, []string{"thing"}},
			{"empty version given", func(r *idempotency.Request) { r.VersionGiven = true }, []string{"thing"}},
			{"media type", func(r *idempotency.Request) { r.MediaType = "text/csv" }, []string{"content"}},
			{"content", func(r *idempotency.Request) { r.Content[31]++ }, []string{"content"}},
			{"option's value", func(r *idempotency.Request) { r.Options[0].Value = "b.json" }, []string{"options"}},
			{"option's name", func(r *idempotency.Request) { r.Options[0].Name = "title" }, []string{"options"}},
			{"option left out", func(r *idempotency.Request) { r.Options = r.Options[:1] }, []string{"options"}},
			{
				"everything",
				func(r *idempotency.Request) { *r = idempotency.Request{} },
				[]string{"thing", "content", "options"},
			},
		} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				changed := request()
				tt.change(&changed)
				first, second := request().Fingerprint(), changed.Fingerprint()
				if diff := cmp.Diff(tt.want, second.Differs(first, "thing")); diff != "" {
					t.Errorf("Differs (-want +got):\n%s", diff)
				}
				if got, want := first.Sum == second.Sum, len(tt.want) == 0; got != want {
					t.Errorf("sums equal = %t, want %t", got, want)
				}
			})
		}
	})
	t.Run("KeepsItsRules", func(t *testing.T) {
		t.Parallel()
		f := request().Fingerprint()
		const want = "2 4890ebbfc288cb0198831ab7f39cae9fbf825398f5d62bf8c42b534686f3d7c9"
		if got := fmt.Sprintf("%d %x", f.Version, f.Sum); got != want {
			t.Errorf("fingerprint = %s, want %s (other rules need another FingerprintVersion)", got, want)
		}
	})
	t.Run("LeavesTheOptionsInTheirOrder", func(t *testing.T) {
		t.Parallel()
		r := request()
		r.Fingerprint()
		if diff := cmp.Diff(request().Options, r.Options); diff != "" {
			t.Errorf("options (-want +got):\n%s", diff)
		}
	})
	t.Run("HasNoTwoWaysToDivideText", func(t *testing.T) {
		t.Parallel()
		seen := map[idempotency.Digest]string{}
		for _, r := range divisions() {
			text := fmt.Sprintf("%#v", r)
			sum := r.Fingerprint().Sum
			if other, found := seen[sum]; found && other != text {
				t.Fatalf("%s and %s have one fingerprint", text, other)
			}
			seen[sum] = text
		}
	})
}

// divisions are requests that deal one short text out to the fields in many ways, so that anything which
// merely joined the fields would meet the same bytes again.
func divisions() []idempotency.Request {
	const text = "aaabab"
	random := rand.New(rand.NewPCG(1, 2))
	requests := make([]idempotency.Request, 20_000)
	for i := range requests {
		cuts := []int{0, 0, 0, 0, 0, 0, 0, 0}
		for j := range cuts {
			cuts[j] = random.IntN(len(text) + 1)
		}
		slices.Sort(cuts)
		field := func(n int) string { return text[cuts[n]:cuts[n+1]] }
		r := idempotency.Request{
			Method: field(0), Endpoint: field(1), Target: field(2), Version: field(3), MediaType: field(4),
			VersionGiven: cuts[3] != cuts[4],
		}
		for n := 5; n < 7; n++ {
			if field(n) != "" {
				r.Options = append(r.Options, idempotency.Option{Name: field(n)[:1], Value: field(n)[1:]})
			}
		}
		slices.SortFunc(r.Options, func(a, b idempotency.Option) int {
			return strings.Compare(a.Name+a.Value, b.Name+b.Value)
		})
		requests[i] = r
	}
	return requests
}

func request() idempotency.Request {
	return idempotency.Request{
		Method:    "POST",
		Endpoint:  "workflow_start",
		Target:    "0198c0de-0000-7000-8000-000000000001",
		Options:   []idempotency.Option{{Name: "filename", Value: "a.json"}, {Name: "name", Value: "March"}},
		MediaType: "application/json",
		Content:   idempotency.DigestBytes([]byte(`{}`)),
	}
}
