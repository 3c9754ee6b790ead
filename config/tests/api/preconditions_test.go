package api

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// TestPreconditions changes what others change too, as RFC 9110, section 13.1.1, has it: only the version that the
// client has seen, which it compares strongly.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	const shared, settings = "/api/workflows/shared/", "/api/organization/"
	const patch, post, renaming = http.MethodPatch, http.MethodPost, `{"name":"Another"}`
	type sent struct{ method, path, body string }
	for name, test := range map[string]struct {
		read string
		// change is what the client wants, and other is what somebody else does before.
		change, other sent
		want          int
	}{
		"Rename": {
			shared, sent{patch, shared, renaming}, sent{patch, shared, `{"description":"Mine."}`}, http.StatusOK,
		},
		"Deactivate": {
			shared,
			sent{post, shared + "deactivate/", ""},
			sent{post, shared + "versions/", versionBody("more")},
			http.StatusOK,
		},
		"Version": {
			shared,
			sent{post, shared + "versions/", versionBody("less")},
			sent{post, shared + "versions/", versionBody("more")},
			http.StatusCreated,
		},
		"Settings": {
			settings, sent{patch, settings, renaming}, sent{patch, settings, `{"key_required":true}`}, http.StatusOK,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.Must(t, http.StatusCreated, s.creation("", "shared"))
			read := s.change(http.MethodGet, test.read, "")
			tag := current(t, s, read)
			s.Must(t, http.StatusNotModified, read.With("If-None-Match", tag))
			other := s.change(test.other.method, test.other.path, test.other.body)
			if status := s.Do(t, other).Status; status >= http.StatusBadRequest {
				t.Fatalf("the other change is answered %d", status)
			}
			before := audits(t, s)
			change := s.change(test.change.method, test.change.path, test.change.body)
			for _, stale := range []string{tag, `"nope"`, "W/" + current(t, s, read)} {
				s.Refused(t, api.CodePreconditionFailed, change.With("If-Match", stale))
			}
			if after := audits(t, s); after != before {
				t.Errorf("audit records = %d, want %d", after, before)
			}
			s.Must(t, test.want, change.With("If-Match", `"nope", `+current(t, s, read)))
			if got := audits(t, s); got != before+1 {
				t.Errorf("audit records = %d, want one more than %d", got, before)
			}
		})
	}
}

// current is the tag of what is read now.
func current(tb testing.TB, s *stage, read call) string {
	tb.Helper()
	return s.Must(tb, http.StatusOK, read).Header.Get("ETag")
}

func audits(tb testing.TB, s *stage) int64 {
	tb.Helper()
	return coretest.One[int64](tb, s.DB, `SELECT count(*) FROM audit_records`)
}

// Of two who change the same version at once, one does, whichever it is.
func TestPreconditionsRace(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Must(t, http.StatusCreated, s.creation("", "shared"))
	read := s.change(http.MethodGet, "/api/workflows/shared/", "")
	for round := range 10 {
		tag := current(t, s, read)
		var calls []call
		for _, name := range []string{"a", "b"} {
			body := `{"name":"` + name + string(rune('a'+round)) + `"}`
			calls = append(calls, s.change(http.MethodPatch, "/api/workflows/shared/", body).With("If-Match", tag))
		}
		want := map[int]int{http.StatusOK: 1, http.StatusPreconditionFailed: 1}
		if diff := cmp.Diff(want, s.AtOnce(t, calls)); diff != "" {
			t.Errorf("round %d: statuses (-want +got):\n%s", round, diff)
		}
	}
}
