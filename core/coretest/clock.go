package coretest

import (
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// StopClock lets transactions of a database begin at one moment from now on: at the present one, moved by ahead.
func StopClock(tb testing.TB, database *db.DB, ahead time.Duration) {
	tb.Helper()
	for _, statement := range []string{
		One[string](tb, database, `SELECT 'CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE
			AS $$ SELECT timestamptz ' || quote_literal(now() + make_interval(secs => $1)) || ' $$'`, ahead.Seconds()),
		One[string](tb, database, `SELECT format(
			'ALTER DATABASE %I SET search_path = public, pg_catalog', current_database())`),
	} {
		if _, err := database.Pool.Exec(tb.Context(), statement); err != nil {
			tb.Fatal(err)
		}
	}
	database.Pool.Reset() // New connections have the setting.
}
