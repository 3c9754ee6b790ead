package db_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// A connection that was idle is looked at without a round trip.
func TestIdleConnectionsAreNotPinged(t *testing.T) {
	t.Parallel()
	cfg := coretest.OpenDatabase(t).Pool.Config()
	if cfg.ShouldPing == nil || cfg.ShouldPing(t.Context(), pgxpool.ShouldPingParams{IdleDuration: time.Hour}) {
		t.Error("an idle connection is pinged")
	}
}
