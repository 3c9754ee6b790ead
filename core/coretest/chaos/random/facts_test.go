package random

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest/chaos/requests"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// facts are what the database says of what happened.
type facts struct {
	// runs are all runs, and made those that a request has started, by its Request-Id.
	runs map[uuid.UUID]*run
	made map[string]*run
	// uses are the uses of each key, in their order.
	uses map[string][]*use
}

// run is a run as it is in the end.
type run struct {
	ID        uuid.UUID
	OrgID     uuid.UUID
	Key       string
	KeyID     *uuid.UUID
	RequestID string
	Metric    string
	Result    string
	// Committed is when the transaction that made it was committed, and Ended when it was completed.
	Committed time.Time
	Ended     *time.Time
}

// use is a use of a key from its claim on, also where it has been purged since.
type use struct {
	OrgID uuid.UUID
	Key   string
	ID    uuid.UUID
	// Expires is the latest time that it was to be kept until, and Finished when the commit that finished it came.
	Created, Expires time.Time
	Finished         *time.Time
}

// misdeed is what the triggers have found.
type misdeed struct {
	At                     time.Time
	OrgID                  uuid.UUID
	What, Key, Was, Became string
}

// shownTime is how times are shown.
const shownTime = "15:04:05.000000"

// learn reads what happened from the database.
func (s *stage) learn(tb testing.TB) facts {
	tb.Helper()
	f := facts{runs: make(map[uuid.UUID]*run), made: make(map[string]*run), uses: make(map[string][]*use)}
	uses := make(map[uuid.UUID]*use)
	for _, database := range []*db.DB{s.DB, s.other.DB} {
		for _, r := range rowsOf[run](tb, database, `
			SELECT DISTINCT ON (j.id) j.id, j.org_id, j.key, (l.state ->> 'idempotency_key_id')::uuid AS key_id,
				l.state ->> 'request_id' AS request_id, l.state ->> 'usage_metric' AS metric,
				coalesce(l.state ->> 'result', '') AS result,
				pg_xact_commit_timestamp(j.xmin) AS committed,
				CASE l.state ->> 'state' WHEN 'COMPLETED' THEN (l.state ->> 'ended_at')::timestamptz END AS ended
			FROM chaos.journal AS j JOIN chaos.journal AS l ON l.tab = 'run' AND l.id = j.id AND l.op <> 'DELETE'
			WHERE j.tab = 'run' AND j.op = 'INSERT' ORDER BY j.id, l.n DESC`) {
			if f.runs[r.ID] == nil { // It may have moved.
				r.Committed = s.ground.Real(r.Committed)
				if r.Ended != nil {
					*r.Ended = s.ground.Real(*r.Ended)
				}
				f.runs[r.ID], f.made[r.RequestID] = r, r
			}
		}
		for _, u := range rowsOf[use](tb, database, `
			SELECT org_id, key, id, min((state ->> 'created_at')::timestamptz) AS created,
				max((state ->> 'expires_at')::timestamptz) AS expires,
				min(pg_xact_commit_timestamp(xmin)) FILTER (WHERE state ->> 'recovery_point' = 'finished') AS finished
			FROM chaos.journal AS j WHERE tab = 'key' AND op <> 'DELETE' AND EXISTS (
				SELECT FROM chaos.journal AS r WHERE r.tab = 'run' AND r.org_id = j.org_id
					AND r.state ->> 'idempotency_key_id' = j.id::text)
				-- A claim that is withdrawn by its own transaction was none.
				AND NOT EXISTS (SELECT FROM chaos.journal AS d
					WHERE d.id = j.id AND d.op = 'DELETE' AND d.xmin = j.xmin)
			GROUP BY org_id, key, id ORDER BY created`) {
			if uses[u.ID] != nil {
				continue // It has moved.
			}
			u.Created, u.Expires = s.ground.Real(u.Created), s.ground.Real(u.Expires)
			if u.Finished != nil {
				*u.Finished = s.ground.Real(*u.Finished)
			}
			name := requests.KeyOf(s.number(u.OrgID), u.Key)
			uses[u.ID], f.uses[name] = u, append(f.uses[name], u)
		}
	}
	for _, all := range f.uses {
		slices.SortFunc(all, func(a, b *use) int { return a.Created.Compare(b.Created) })
	}
	return f
}

// useOf is the use of a key that a run belongs to.
func (f facts) useOf(name string, r *run) *use {
	for _, u := range f.uses[name] {
		if r != nil && r.KeyID != nil && u.ID == *r.KeyID {
			return u
		}
	}
	return nil
}

// expires is when the use of a run's key ended.
func (f facts) expires(name string, r *run) time.Time {
	if u := f.useOf(name, r); u != nil {
		return u.Expires
	}
	return time.Time{}
}

// number is the number of an organization.
func (s *stage) number(id uuid.UUID) int {
	for n, o := range s.orgs {
		if o.ID == id {
			return n
		}
	}
	return -1
}

// moment is a line of a timeline.
type moment struct {
	At   time.Time
	Text string
}

// journalOf is what was stored of a key and its runs, at the times of the commits.
func (s *stage) journalOf(tb testing.TB, org uuid.UUID, key string) []*moment {
	tb.Helper()
	var found []*moment
	for _, database := range []*db.DB{s.DB, s.other.DB} {
		found = append(found, rowsOf[moment](tb, database, `
		SELECT coalesce(pg_xact_commit_timestamp(xmin), at) AS at,
			'stored by ' || host || ': ' || lower(op) || ' ' || tab || ' ' || jsonb_strip_nulls(state - '{error_count,
				warning_count,info_count,last_error,sweeps,response_status,finished_at,started_at,
				ended_at}'::text[])::text AS text
		FROM chaos.journal WHERE org_id = $1 AND key = $2 ORDER BY 1`, org, key)...)
	}
	for _, m := range found {
		m.At = s.ground.Real(m.At)
	}
	return found
}

// logOf is what the servers have said of some requests.
func (s *stage) logOf(ids map[string]bool) []*moment {
	var found []*moment
	for _, said := range s.said {
		for line := range strings.Lines(said.Stderr()) {
			_, rest, _ := strings.Cut(line, " request_id=")
			id, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			stamp, text, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
			at, err := time.Parse(time.RFC3339Nano, stamp)
			if err == nil && ids[id] {
				found = append(found, &moment{at, "logged: " + strings.TrimSpace(text)})
			}
		}
	}
	return found
}

func rowsOf[T any](tb testing.TB, database *db.DB, query string, args ...any) []*T {
	tb.Helper()
	rows, err := database.Pool.Query(context.WithoutCancel(tb.Context()), query, args...)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[T])
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return found
}
