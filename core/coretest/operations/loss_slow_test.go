//go:build slow

package operations

import (
	"testing"

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
