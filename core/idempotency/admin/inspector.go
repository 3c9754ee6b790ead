package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
)

// Inspector reads keys for people, and frees stuck ones.
type Inspector struct {
	db          *db.DB
	maxAttempts int
	operations  idempotency.Operations
}

// NewInspector makes an Inspector; maxAttempts is the completer's.
func NewInspector(database *db.DB, maxAttempts int, operations idempotency.Operations) *Inspector {
	return &Inspector{db: database, maxAttempts: maxAttempts, operations: operations}
}

// List reads one page of the organization's keys, newest first, and one entry more. It scans at most core.MaxScanned
// keys for a part of a key.
func (i *Inspector) List(
	ctx context.Context, orgID uuid.UUID, filter EntryFilter, cursor core.Cursor,
) (core.Scanned[Entry], error) {
	var reads db.Reads
	list := i.queueList(&reads, orgID, filter, cursor)
	if err := i.db.Read(ctx, &reads); err != nil {
		return core.Scanned[Entry]{}, fmt.Errorf("list keys: %w", err)
	}
	return list.entries(), nil
}

// queuedList is a page of keys that is being read.
type queuedList struct {
	found []Entry
	size  int
	last  []uuid.UUID
}

func (i *Inspector) queueList(
	reads *db.Reads, orgID uuid.UUID, filter EntryFilter, cursor core.Cursor,
) *queuedList {
	list := &queuedList{size: cursor.Size}
	i.queueEntries(reads, orgID, filter, cursor, &list.found)
	if filter.Search != "" {
		queueLastScanned(reads, orgID, filter, cursor, &list.last)
	}
	return list
}

func (l *queuedList) entries() core.Scanned[Entry] {
	if len(l.found) > l.size || len(l.last) == 0 {
		return core.Scanned[Entry]{Found: l.found}
	}
	return core.Scanned[Entry]{Found: l.found, Stopped: l.last[0]}
}

// Find reads one key of the organization with its phase changes.
func (i *Inspector) Find(ctx context.Context, orgID, id uuid.UUID) (Entry, error) {
	var reads db.Reads
	var entry Entry
	i.queueEntry(&reads, orgID, id, &entry)
	err := i.readKey(ctx, &reads, id)
	return entry, err
}

// readKey runs look-ups of a key. If one that must find a row finds none, there is no such key.
func (i *Inspector) readKey(ctx context.Context, reads *db.Reads, id uuid.UUID) error {
	err := i.db.Read(ctx, reads)
	if errors.Is(err, pgx.ErrNoRows) {
		return core.NotFound("idempotency key")
	}
	if err != nil {
		return fmt.Errorf("read key %s: %w", id, err)
	}
	return nil
}

// MaxStuck is the most stuck keys that are counted.
const MaxStuck = 100

// Stuck counts the organization's unfinished keys whose lock has expired, up to MaxStuck.
func (i *Inspector) Stuck(ctx context.Context, orgID uuid.UUID) (int64, error) {
	var reads db.Reads
	var n int64
	queueStuck(&reads, orgID, &n)
	if err := i.db.Read(ctx, &reads); err != nil {
		return 0, fmt.Errorf("count stuck keys: %w", err)
	}
	return n, nil
}

// Days reads the activity of the organization's keys day by day, today first.
func (i *Inspector) Days(ctx context.Context, orgID uuid.UUID) ([]Day, error) {
	var reads db.Reads
	var days []Day
	queueDays(&reads, orgID, &days)
	if err := i.db.Read(ctx, &reads); err != nil {
		return nil, fmt.Errorf("read the activity of keys: %w", err)
	}
	return days, nil
}

// Refusals reads what was refused on the last days, today first.
func (i *Inspector) Refusals(ctx context.Context, orgID uuid.UUID, days int) ([]requestlog.Refusal, error) {
	return requestlog.NewReader(i.db).Refusals(ctx, orgID, days)
}

// Release frees a stuck key as idempotency.Release does, and writes the audit record in the same transaction.
func (i *Inspector) Release(ctx context.Context, principal core.Principal, id uuid.UUID, reason string) error {
	return db.Do(ctx, i.db, func(tx db.Tx) error {
		if err := idempotency.Release(ctx, tx, principal.OrgID, id); err != nil {
			return err
		}
		return core.AuditBy(ctx, tx, principal, core.AuditRecord{
			Action: "idempotency_key.release", TargetType: "idempotency_key", TargetID: id.String(), Detail: reason,
		})
	})
}
