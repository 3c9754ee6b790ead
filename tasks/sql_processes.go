package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// lateIntervals is how many of its intervals a loop may take for a pass, and lateAtLeast what it may take in any case:
// a batch of work takes longer than the pause between two that find nothing.
const (
	lateIntervals = 5
	lateAtLeast   = 15 * time.Second
)

// ProcessState is a process with its last heartbeat, by the clock of the database.
type ProcessState struct {
	Process

	ID        uuid.UUID
	StartedAt time.Time
	SeenAt    time.Time
	// SilentFor is the time since the last heartbeat where that is too long: the process was killed or cut off. Else 0.
	SilentFor time.Duration
	Loops     []LoopState
}

// LoopState is the state of a loop at the last heartbeat of its process.
type LoopState struct {
	Name  string
	Every time.Duration
	// EndedAt is the end of its last pass; nil before the first.
	EndedAt *time.Time
	// Done counts what that pass did, and Total what all passes did since the process was started.
	Done, Total int64
	// Failures counts the passes that have failed in a row.
	Failures int64
	// LastError is the error of the last failed pass, at FailedAt, which is nil if none has failed.
	LastError string
	FailedAt  *time.Time
	// Age is the time from the end of the last successful pass to now; nil if that was never or the last pass failed.
	Age *time.Duration
	// Late says that no pass has ended for much longer than the loop's interval.
	Late bool
}

// Processes lists up to a limit of the processes that live or have been silent for less than a day. Living ones come
// first, then those with the latest heartbeat.
func Processes(ctx context.Context, database *db.DB, limit int) ([]ProcessState, error) {
	var found []ProcessState
	var loops []loopRow
	var reads db.Reads
	reads.Queue(func(rows pgx.Rows) error {
		var err error
		found, err = pgx.CollectRows(rows, scanProcess)
		return err
	}, `SELECT id, host, pid, version, parts, started_at, seen_at,
			CASE WHEN seen_at < now() - $2::interval THEN now() - seen_at ELSE '0' END AS silent
		FROM service_processes ORDER BY silent, host, pid LIMIT $1`, limit, silentAfter)
	reads.Queue(func(rows pgx.Rows) error {
		var err error
		loops, err = pgx.CollectRows(rows, pgx.RowToStructByPos[loopRow])
		return err
	}, `SELECT l.process_id, l.name, l.every, l.ended_at, l.done, l.total, l.failures, l.last_error, l.failed_at,
			CASE WHEN l.failures = 0 THEN now() - l.ended_at END,
			p.seen_at - coalesce(l.ended_at, p.started_at) > greatest($1 * l.every, $2::interval)
		FROM service_loops AS l JOIN service_processes AS p ON p.id = l.process_id
		WHERE p.seen_at >= now() - $3::interval ORDER BY l.name`, lateIntervals, lateAtLeast, silentAfter)
	if err := database.Read(ctx, &reads); err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	index := make(map[uuid.UUID]int, len(found))
	for i, process := range found {
		index[process.ID] = i
	}
	for _, loop := range loops {
		if i, ok := index[loop.ProcessID]; ok {
			found[i].Loops = append(found[i].Loops, loop.LoopState)
		}
	}
	return found, nil
}

func scanProcess(row pgx.CollectableRow) (ProcessState, error) {
	var p ProcessState
	err := row.Scan(&p.ID, &p.Host, &p.PID, &p.Version, &p.Parts, &p.StartedAt, &p.SeenAt, &p.SilentFor)
	return p, err
}

// loopRow is a loop and the process that it is of.
type loopRow struct {
	ProcessID uuid.UUID
	LoopState
}
