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

// memory has a server on glibc keep what the statements of the session free, up to 2 MB. Otherwise it gives the memory
// back after each statement, and the kernel clears it anew for the next. The limits of the allocator rise with the
// first large block that it frees (M_MMAP_THRESHOLD in mallopt(3)).
const memory = `length(repeat(' ', 1 << 20))`

// setSession is a statement and no start-up parameter, because a transaction pooler refuses those that it does not
// know. Behind one, each transaction sets the planner for itself, and the configuration of the pooler has the rest.
func setSession(ctx context.Context, conn *pgx.Conn) error {
	query := plannerOfSession + ", " + clientCheck + ", " + keepalive + ", " + memory
	if _, err := conn.Exec(ctx, query, pgx.QueryExecModeExec); err != nil {
		return fmt.Errorf("set up the session: %w", err)
	}
	return nil
}
