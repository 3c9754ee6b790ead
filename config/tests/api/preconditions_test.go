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
	const renaming, versions = `{"name":"Another"}`, "/api/workflows/shared/versions/"
	for name, test := range map[string]struct {
		read string
		// change is what the client wants, and other is what somebody else does before.
		change, other func(s *stage) call
		want          int
	}{
		"Rename": {
			read:   "/api/workflows/shared/",
			change: func(s *stage) call { return s.change(http.MethodPatch, "/api/workflows/shared/", renaming) },
			other: func(s *stage) call {
				return s.change(http.MethodPatch, "/api/workflows/shared/", `{"description":"Mine."}`)
			},
			want: http.StatusOK,
		},
		"Deactivate": {
			read:   "/api/workflows/shared/",
			change: func(s *stage) call { return s.change(http.MethodPost, "/api/workflows/shared/deactivate/", "") },
			other:  func(s *stage) call { return s.change(http.MethodPost, versions, versionBody("more")) },
			want:   http.StatusOK,
		},
		"Version": {
			read: "/api/workflows/shared/",
			change: func(s *stage) call {
				return s.change(http.MethodPost, versions, versionBody("less")).With("Idempotency-Key", "k")
			},
			other: func(s *stage) call { return s.change(http.MethodPost, versions, versionBody("more")) },
			want:  http.StatusCreated,
		},
		"Settings": {
			read:   "/api/organization/",
			change: func(s *stage) call { return s.change(http.MethodPatch, "/api/organization/", renaming) },
			other: func(s *stage) call {
				return s.change(http.MethodPatch, "/api/organization/", `{"key_required":true}`)
			},
			want: http.StatusOK,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.Must(t, http.StatusCreated, s.creation("", "shared"))
			read := s.change(http.MethodGet, test.read, "")
			tag := current(t, s, read)
			s.Must(t, http.StatusNotModified, read.With("If-None-Match", tag))
			if status := s.Do(t, test.other(s)).Status; status >= http.StatusBadRequest {
				t.Fatalf("the other change is answered %d", status)
			}
			before := audits(t, s)
			for _, stale := range []string{tag, `"nope"`, "W/" + current(t, s, read)} {
				s.Refused(t, api.CodePreconditionFailed, test.change(s).With("If-Match", stale))
			}
			if after := audits(t, s); after != before {
				t.Errorf("audit records = %d, want %d", after, before)
			}
			s.Must(t, test.want, test.change(s).With("If-Match", `"nope", `+current(t, s, read)))
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
