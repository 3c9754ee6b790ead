package cmd

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	// heapShare is the part that the Go heap may take of a container's memory, less what is reserved for PostgreSQL.
	heapShare = 0.9
	// mostHeadroom is how far the heap grows between two garbage collections, beyond what is in use. Go collects when
	// the heap has doubled, so a service with a small heap would collect many times a second. GOGC cannot say this: a
	// higher percentage would multiply the memory of large documents, too. GOMEMLIMIT depends on the machine, and is
	// left to operators.
	mostHeadroom = 64 << 20
	// headroomShare is the part of a small container's memory that is headroom.
	headroomShare = 16
	// unlimited is less than what the first version of control groups has for no limit, a number of pages near 2^63.
	unlimited = 1 << 60
)

// headroom is how far the heap of this process may grow between two garbage collections, beyond what is in use.
func headroom() int64 {
	limit := debug.SetMemoryLimit(-1) // A negative limit asks for the one of GOMEMLIMIT.
	if container, err := memlimit.FromCgroup(); err == nil && container <= unlimited {
		limit = min(limit, int64(container))
	}
	return headroomWithin(limit)
}

func headroomWithin(limit int64) int64 { return min(limit/headroomShare, mostHeadroom) }

// limitMemory makes the garbage collector keep within the memory of the container, unless GOMEMLIMIT says otherwise or
// there is no limit.
func limitMemory(ctx context.Context, b *backend, conns int32) error {
	reserved, err := b.reservedMemory(ctx, conns)
	if err != nil {
		return err
	}
	container := besides(reserved, memlimit.FromCgroup)
	limit, err := memlimit.Set(memlimit.WithRatio(heapShare), memlimit.WithProvider(container))
	if err != nil || limit > unlimited {
		b.log.DebugContext(ctx, "the memory of this process is not limited", "reason", err)
		return nil
	}
	b.log.InfoContext(ctx, "the memory of this process is limited",
		"bytes", limit, "reserved_bytes", reserved)
	return nil
}

// reservedMemory is what a private PostgreSQL takes of the container that it shares with this process. The kernel ends
// one of the two when both together take more than there is.
func (b *backend) reservedMemory(ctx context.Context, conns int32) (int64, error) {
	if b.private == nil {
		return 0, nil
	}
	return memoryOfPostgres(ctx, b.db, conns)
}

// besides leaves what is reserved to others, but keeps half of the memory: in a small container the estimate of what
// others take at most would leave too little to live on.
func besides(reserved int64, container memlimit.Provider) memlimit.Provider {
	return func() (uint64, error) {
		limit, err := container()
		if limit > unlimited {
			return 0, memlimit.ErrNoLimit
		}
		return limit - min(uint64(max(0, reserved)), limit/2), err
	}
}

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
