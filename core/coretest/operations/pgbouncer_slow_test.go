//go:build slow

package operations

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestPgBouncer looks at what belongs to PgBouncer alone. That the service does all it promises behind one is shown by
// the tests of conformance, which run through it as well.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	address := coretest.DatabaseURL(t)
	pooled := program.PgBouncer(t, address)

	t.Run("ServesMoreClientsThanItHasConnections", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for n := range 50 {
			conn, err := pgx.Connect(ctx, pooled)
			if err != nil {
				t.Fatalf("connect client %d: %v", n, err)
			}
			t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) }) // The pooler may have ended.
			if _, err := conn.Exec(ctx, "SELECT 1"); err != nil {
				t.Fatalf("ask as client %d: %v", n, err)
			}
		}
	})

	t.Run("IsNotUsedUnknowingly", func(t *testing.T) {
		t.Parallel()
		said := program.Refuse(t, program.Briskly("DATABASE_URL="+pooled), "migrate", "up")
		if !strings.Contains(said, "DATABASE_DIRECT_URL") {
			t.Errorf("said %s, want it to name DATABASE_DIRECT_URL", said)
		}
		doctor := program.Launch(t, program.Briskly("DATABASE_URL="+pooled, "SV_URL=http://127.0.0.1:1"), "", "doctor")
		doctor.AwaitEnd(t)
		said = doctor.Stdout()
		if !strings.Contains(said, "SV110  error") || !strings.Contains(said, "DATABASE_DIRECT_URL") {
			t.Errorf("doctor says %s, want it to name DATABASE_DIRECT_URL", said)
		}
	})
}
