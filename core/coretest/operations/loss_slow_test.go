//go:build slow

package operations

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/postgres"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestTimeoutsOfProduction is TestNothingIsAnsweredThatNoStandbyHas with the timeouts that are the default.
func TestTimeoutsOfProduction(t *testing.T) {
	t.Parallel()
	for _, loss := range postgres.Losses() {
		t.Run(loss.Name, func(t *testing.T) {
			t.Parallel()
			pair := postgres.StartPair(t)
			s := serveOn(t, pair, "DATABASE_URL="+pair.URL(t), "SV_DB_STATEMENT_TIMEOUT=10s")
			s.outlive(t, pair, loss)
			s.failOver(t, pair, loss)
		})
	}
}

// TestThroughPgBouncer has a PgBouncer before the primary, which closes its connection to the server when the service
// closes its own.
func TestThroughPgBouncer(t *testing.T) {
	t.Parallel()
	for _, loss := range postgres.Losses() {
		t.Run(loss.Name, func(t *testing.T) {
			t.Parallel()
			pair := postgres.StartPair(t)
			s := serveOn(t, pair, "DATABASE_URL="+program.PgBouncer(t, pair.PrimaryURL()),
				"DATABASE_DIRECT_URL="+pair.PrimaryURL(), "SV_COMMIT_TIMEOUT=2s", "SV_DB_STATEMENT_TIMEOUT=2s")
			s.outlive(t, pair, loss)
		})
	}
}

// TestFailoverToAnAsynchronousStandby loses the primary after a start that the standby has not got. The run is lost
// with its key and its charge, so that a retry starts a new one, once.
func TestFailoverToAnAsynchronousStandby(t *testing.T) {
	t.Parallel()
	const kept, lost = "kept", "lost"
	pair := postgres.StartPair(t)
	s := serveOn(t, pair, "DATABASE_URL="+pair.URL(t))
	s.insist(t, kept)
	coretest.Prepare(t, pair.PrimaryURL(), "ALTER SYSTEM RESET synchronous_standby_names")
	coretest.Prepare(t, pair.PrimaryURL(), "SELECT pg_reload_conf()")
	program.Await(t, "no commit waits for the standby", func() bool {
		return coretest.One[string](t, s.DB, "SHOW synchronous_standby_names") == ""
	})
	cut := postgres.Losses()[2]
	pair.Lose(t, cut)
	gone := s.client.Start(t, s.server.URL(), program.Building(t, lost))
	program.WantCreated(t, gone)
	pair.KillPrimary(t)
	pair.TakeBack(t, cut)
	pair.Promote(t)
	s.insist(t, kept, lost)
	s.check(t)
	id := gone.Run(t).String()
	if a := s.client.Get(t, s.server.URL()+"/api/runs/"+id+"/"); a.Status != http.StatusNotFound {
		t.Errorf("the lost run = %d %s, want 404", a.Status, a.Body)
	}
	if n := program.Count(t, s.DB, "SELECT sum(used) FROM usage_counters WHERE org_id = $1", s.Harbour.ID); n != 2 {
		t.Errorf("charges = %d, want 2", n)
	}
}
