package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// clientCheck has the server look once a second whether the client of a running statement has hung up, and end the
// statement if so. It interrupts no COMMIT. PostgreSQL 15 has it on Linux, macOS and the BSDs.
const clientCheck = `set_config('client_connection_check_interval', '1s', false)`

// keepalive has the server end the session of a host that has vanished within half a minute, wherever it was: no time
// limit of PostgreSQL counts in the middle of a message. The default of the system is two hours.
const keepalive = `set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
	set_config('tcp_keepalives_count', '3', false)`

// setSession is a statement and no start-up parameter, because a transaction pooler refuses those that it does not
// know. Behind one, each transaction sets the planner for itself, and the configuration of the pooler has the rest.
func setSession(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, plannerOfSession+", "+clientCheck+", "+keepalive, pgx.QueryExecModeExec); err != nil {
		return fmt.Errorf("set up the session: %w", err)
	}
	return nil
}
