package api

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
)

// days reads the activity of an organization's keys; the days themselves are left out.
func (s *stage) days(tb testing.TB, token string) []api.KeyActivityDay {
	tb.Helper()
	activity := call{Path: "/api/idempotency-keys/activity/", Token: token}
	body := fixture.Decoded[api.KeyActivity](tb, s.Must(tb, http.StatusOK, activity))
	for i, day := range body.Days {
		if i > 0 && day.Day >= body.Days[i-1].Day {
			tb.Errorf("%s comes after %s, want the latest first", day.Day, body.Days[i-1].Day)
		}
	}
	for i := range body.Days {
		body.Days[i].Day = ""
	}
	return body.Days
}

func TestDaysOfKeys(t *testing.T) {
	t.Parallel()

	t.Run("CountWhatRequestsMet", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Started(t, s.Start(t, "k"))
		s.Must(t, http.StatusCreated, s.Start(t, "k"))
		s.Refused(t, api.CodeKeyReused, s.Start(t, "k").WithBody("text/csv", "a\n1\n"))
		s.Must(t, http.StatusCreated, s.Start(t, "").With("X-Idempotency-Key", "k"))
		s.Exec(t, `UPDATE organizations SET key_required = true`)
		s.Refused(t, api.CodeKeyRequired, s.Start(t, "").With("Idempotency_Key", "k"))
		s.Refused(t, api.CodeKeyRequired, s.Start(t, ""))
		s.Flush(t)
		s.Must(t, http.StatusCreated, s.Start(t, "k"))
		s.Flush(t)
		s.Exec(t, `INSERT INTO key_activity_days (org_id, day, replayed)
			SELECT $1, (now() AT TIME ZONE 'UTC')::date - ago, ago FROM generate_series(1, 40) AS ago`, s.Harbour.ID)
		want := []api.KeyActivityDay{{Replayed: 2, Reused: 1, Misnamed: 2}}
		for ago := range 29 {
			want = append(want, api.KeyActivityDay{Replayed: ago + 1})
		}
		if diff := cmp.Diff(want, s.days(t, s.Harbour.Tokens.Viewer)); diff != "" {
			t.Errorf("days (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(make([]api.KeyActivityDay, 30), s.days(t, s.Tiny.Tokens.Viewer)); diff != "" {
			t.Errorf("days of another organization (-want +got):\n%s", diff)
		}
	})

	t.Run("CountEveryLoserOfARace", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		earlier := s.Started(t, s.Start(t, ""))
		for _, c := range []call{s.Start(t, "race"), s.Rerun("race", earlier.ID)} {
			s.Together(t, slices.Repeat([]call{c}, 40))
		}
		s.Flush(t)
		today := s.days(t, s.Harbour.Tokens.Viewer)[0]
		if today.Replayed+today.InProgress != 2*39 || today.Reused != 0 {
			t.Errorf("today = %+v, want every answer but the first of both counted", today)
		}
	})

	t.Run("ArePurgedWithTheKeys", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Exec(t, `INSERT INTO key_activity_days (org_id, day)
			SELECT $1, (now() AT TIME ZONE 'UTC')::date - ago FROM generate_series(0, 40) AS ago`, s.Harbour.ID)
		if _, err := admin.Purge(t.Context(), s.DB, 10); err != nil {
			t.Fatal(err)
		}
		if left := coretest.One[int](t, s.DB, `SELECT count(*) FROM key_activity_days`); left != 30 {
			t.Errorf("days left = %d, want 30", left)
		}
	})
}
