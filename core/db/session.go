package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// clientCheck has the server look once a second whether the client of a running statement has hung up, and end the
// statement if so. It interrupts no COMMIT. PostgreSQL 15 has it on Linux, macOS and the BSDs.
const clientCheck = `set_config('client_connection_check_interval', '1s', false)`

// setSession is a statement and no start-up parameter, because a transaction pooler refuses those that it does not
// know. Behind one, each transaction sets the planner for itself, and the configuration of the pooler has the rest.
func setSession(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, plannerOfSession+", "+clientCheck, pgx.QueryExecModeExec); err != nil {
		return fmt.Errorf("set up the session: %w", err)
	}
	return nil
}
