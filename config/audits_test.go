package config_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantAudited makes the calls, in the order of their routes, and wants an audit record of each. There has to be one
// for every route below the prefix that takes more than a GET, apart from the exempt ones.
func (s *stage) wantAudited(tb testing.TB, prefix string, exempt []string, calls map[string]call) {
	tb.Helper()
	isRead := func(name string, _ call) bool {
		return strings.HasPrefix(name, http.MethodGet) || slices.Contains(exempt, name)
	}
	maps.DeleteFunc(calls, isRead)
	var routes []string
	for _, route := range s.router.Routes() {
		name := route.Method + " " + route.Path
		if strings.HasPrefix(route.Path, prefix) && route.Method != "echo_route_not_found" && !isRead(name, call{}) {
			routes = append(routes, name)
		}
	}
	slices.Sort(routes)
	if diff := cmp.Diff(routes, slices.Sorted(maps.Keys(calls))); diff != "" {
		tb.Errorf("routes that write (-routes +calls):\n%s", diff)
	}
	const records = `SELECT count(*) FROM audit_records`
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		// To repeat what is so already changes nothing.
		s.exec(tb, `UPDATE workflows SET is_active = $1`, !strings.HasSuffix(name, "/activate/"))
		before := one[int64](tb, s, records)
		got := s.answerTo(tb, calls[name])
		if got.status >= http.StatusBadRequest {
			tb.Errorf("%s: status = %d, want a success; body %s", name, got.status, got.body)
			continue
		}
		if one[int64](tb, s, records) == before {
			tb.Errorf("%s left no audit record", name)
		}
	}
}
