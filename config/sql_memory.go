package config

import (
	"context"
	"fmt"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// sessionMemory is what a session of PostgreSQL takes beside work_mem: its caches of tables, plans and statements.
const sessionMemory = 8 << 20

// memoryOfPostgres estimates the memory in bytes of a server with so many sessions: its own settings say what it
// shares, and what a query and a vacuum may take.
func memoryOfPostgres(ctx context.Context, database *db.DB, sessions int32) (int64, error) {
	var bytes int64
	err := database.Pool.QueryRow(ctx, `
		SELECT pg_size_bytes(current_setting('shared_buffers'))
			+ pg_size_bytes(current_setting('maintenance_work_mem'))
			+ $1::bigint * (pg_size_bytes(current_setting('work_mem')) + $2)`, sessions, sessionMemory).Scan(&bytes)
	if err != nil {
		return 0, fmt.Errorf("read how much memory PostgreSQL may take: %w", err)
	}
	return bytes, nil
}
