package idempotency

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// State is what people call a key's condition.
type State string

// The states of a key.
const (
	// StateInProgress: somebody holds the key.
	StateInProgress State = "in_progress"
	// StateAbandoned: the request stopped between phases and nobody holds the key; the completer will.
	StateAbandoned State = "abandoned"
	// StateDead: the completer has given up; a person has to look.
	StateDead State = "dead"
	// StateFinished: the response is stored and replayed.
	StateFinished State = "finished"
	// StateExpired: the key's time is over, and it is as good as not there.
	StateExpired State = "expired"
)

// Entry is a key as people look at it, without bodies.
type Entry struct {
	ID            uuid.UUID
	Key           string
	Endpoint      Endpoint
	State         State
	RequestMethod string
	RequestPath   string
	RequestID     string
	RunID         *uuid.UUID
	Status        *int
	Point         Point
	Epoch         int
	Attempts      int
	LastError     string
	CreatedAt     time.Time
	FinishedAt    *time.Time
	ExpiresAt     time.Time
	LockedUntil   *time.Time
	Replays       int64
	Mismatches    int64
	Conflicts     int64
	LastReplayAt  *time.Time
	LastRefusalAt *time.Time

	// moves are read by Find only.
	moves []move
}

// EntryFilter narrows a list of keys; empty members do not narrow.
type EntryFilter struct {
	Key      string `query:"key" validate:"max=255"`
	Endpoint string `query:"endpoint" validate:"max=100"`
	State    string `query:"state" validate:"omitempty,oneof=in_progress abandoned dead finished expired"`
}

// Inspector shows keys to people and lets them free stuck ones.
type Inspector struct {
	db          *db.DB
	maxAttempts int
	operations  Operations
}

// NewInspector makes an Inspector; maxAttempts is the completer's.
func NewInspector(database *db.DB, maxAttempts int, operations Operations) *Inspector {
	return &Inspector{db: database, maxAttempts: maxAttempts, operations: operations}
}

// entryQuery reads entries; $1 is the organization and $2 the completer's bound.
const entryQuery = `
	SELECT * FROM (
		SELECT k.id, k.key, k.endpoint, CASE
				WHEN k.recovery_point = 'finished' AND k.expires_at <= now() THEN 'expired'
				WHEN k.recovery_point = 'finished' THEN 'finished'
				WHEN k.locked_until > now() THEN 'in_progress'
				WHEN k.attempts >= $2 THEN 'dead'
				ELSE 'abandoned' END AS state,
			k.request_method, k.request_path, k.request_id, k.validation_run_id, k.response_status, k.recovery_point,
			k.epoch, k.attempts, k.last_error, k.created_at, k.finished_at, k.expires_at, k.locked_until,
			coalesce(a.replays, 0), coalesce(a.mismatches, 0), coalesce(a.conflicts, 0),
			a.last_replay_at, a.last_refusal_at
		FROM idempotency_keys AS k
		LEFT JOIN key_activity AS a ON a.org_id = k.org_id AND a.key_id = k.id
		WHERE k.org_id = $1) AS e`

// List reads one page of the organization's keys, newest first, and one entry more.
func (i *Inspector) List(
	ctx context.Context, orgID uuid.UUID, filter EntryFilter, cursor core.Cursor,
) ([]Entry, error) {
	var reads db.Reads
	var entries []Entry
	i.queueEntries(&reads, orgID, filter, cursor, &entries)
	if err := i.db.Read(ctx, &reads); err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return entries, nil
}

func (i *Inspector) queueEntries(
	reads *db.Reads, orgID uuid.UUID, filter EntryFilter, cursor core.Cursor, found *[]Entry,
) {
	comparison, order, from := cursor.Window()
	reads.Queue(db.AllInto(found, pgx.RowToStructByPos[Entry]), entryQuery+` WHERE id `+comparison+` $3
			AND ($4 = '' OR key = $4) AND ($5 = '' OR endpoint = $5) AND ($6 = '' OR state = $6)`+
		rareState(State(filter.State))+`
		ORDER BY id `+order+` LIMIT $7`,
		orgID, i.maxAttempts, from, filter.Key, filter.Endpoint, filter.State, cursor.Size+1)
}

// rareState is a condition that holds for all keys of a state of which there are few, so that an index finds them among
// millions of others.
func rareState(state State) string {
	switch state {
	case StateInProgress, StateAbandoned, StateDead:
		return ` AND recovery_point <> 'finished'`
	case StateExpired:
		return ` AND expires_at <= now()`
	default:
		return ""
	}
}

// MaxStuck is how many stuck keys are counted.
const MaxStuck = 100

// Stuck counts the keys that nobody holds and that are not finished, up to MaxStuck.
func (i *Inspector) Stuck(ctx context.Context, orgID uuid.UUID) (int64, error) {
	var reads db.Reads
	var n int64
	queueStuck(&reads, orgID, &n)
	if err := i.db.Read(ctx, &reads); err != nil {
		return 0, fmt.Errorf("count stuck keys: %w", err)
	}
	return n, nil
}

func queueStuck(reads *db.Reads, orgID uuid.UUID, n *int64) {
	reads.Queue(db.OneInto(n, pgx.RowTo[int64]), `
		SELECT count(*) FROM (
			SELECT FROM idempotency_keys
			WHERE org_id = $1 AND recovery_point <> 'finished' AND locked_until <= now() LIMIT $2) AS stuck`,
		orgID, MaxStuck)
}

// storedResponse is what a key replays, as people look at it.
type storedResponse struct {
	Status  int
	Headers ResponseHeaders
	// Body is cut at maxShownBody; Size is that of all of it.
	Body []byte
	Size int
}

// maxShownBody is how much of a stored body is shown, in bytes.
const maxShownBody = 16 << 10

// request is what is known of the first request of a key.
type request struct {
	Fingerprint []byte
	Address     *netip.Addr
	UserAgent   string
}

func queueOrigin(reads *db.Reads, orgID, id uuid.UUID, found *request) {
	reads.Queue(db.OneInto(found, pgx.RowToStructByPos[request]), `
		SELECT request_hash, request_ip, user_agent FROM idempotency_keys WHERE org_id = $1 AND id = $2`, orgID, id)
}

// queueResponse finds one response at most: that of a key which has finished.
func queueResponse(reads *db.Reads, orgID, id uuid.UUID, found *[]storedResponse) {
	reads.Queue(db.AllInto(found, pgx.RowToStructByPos[storedResponse]), `
		SELECT response_status, response_headers, substring(response_body FOR $3), octet_length(response_body)
		FROM idempotency_keys WHERE org_id = $1 AND id = $2 AND recovery_point = 'finished'`, orgID, id, maxShownBody)
}

// Find reads one key of the organization, with what its timeline tells.
func (i *Inspector) Find(ctx context.Context, orgID, id uuid.UUID) (Entry, error) {
	var reads db.Reads
	var entry Entry
	i.queueEntry(&reads, orgID, id, &entry)
	err := i.readKey(ctx, &reads, id)
	return entry, err
}

func (i *Inspector) queueEntry(reads *db.Reads, orgID, id uuid.UUID, found *Entry) {
	reads.Queue(db.OneInto(found, pgx.RowToStructByPos[Entry]), entryQuery+` WHERE id = $3`,
		orgID, i.maxAttempts, id)
	queueMoves(reads, orgID, id, &found.moves)
}

// readKey runs look-ups of a key. One that has to find a row and finds none tells that there is no such key.
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

// Replays returns how often each of the organization's keys with these ids was replayed. A key that is no longer kept
// is not in the answer.
func (i *Inspector) Replays(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]int64, error) {
	replays := make(map[uuid.UUID]int64, len(ids))
	if len(ids) == 0 {
		return replays, nil
	}
	rows, err := i.db.Pool.Query(ctx, `
		SELECT k.id, coalesce(a.replays, 0) FROM idempotency_keys AS k
		LEFT JOIN key_activity AS a ON a.org_id = k.org_id AND a.key_id = k.id
		WHERE k.org_id = $1 AND k.id = ANY ($2)`, orgID, ids)
	if err != nil {
		return nil, fmt.Errorf("read the replays of keys: %w", err)
	}
	var id uuid.UUID
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error {
		replays[id] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the replays of keys: %w", err)
	}
	return replays, nil
}

// RunsStartedWith returns the organization's runs that were started with a key that is still kept: one of each
// operation that it was used for.
func (i *Inspector) RunsStartedWith(ctx context.Context, orgID uuid.UUID, key string) ([]uuid.UUID, error) {
	rows, err := i.db.Pool.Query(ctx, `
		SELECT validation_run_id FROM idempotency_keys
		WHERE org_id = $1 AND key = $2 AND validation_run_id IS NOT NULL`, orgID, key)
	if err != nil {
		return nil, fmt.Errorf("look up the runs of a key: %w", err)
	}
	runs, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("look up the runs of a key: %w", err)
	}
	return runs, nil
}

// Day is what the organization's requests met with their keys on one day.
type Day struct {
	Day        time.Time
	Replayed   int64
	InProgress int64
	Reused     int64
	Misnamed   int64
}

// activityDays is how many days are kept and shown, today included.
const activityDays = 30

// Days reads the activity of the organization's keys day by day, today first.
func (i *Inspector) Days(ctx context.Context, orgID uuid.UUID) ([]Day, error) {
	var reads db.Reads
	var days []Day
	queueLatestDays(&reads, orgID, &days)
	if err := i.db.Read(ctx, &reads); err != nil {
		return nil, fmt.Errorf("read the activity of keys: %w", err)
	}
	return days, nil
}

func queueLatestDays(reads *db.Reads, orgID uuid.UUID, days *[]Day) {
	reads.Queue(db.AllInto(days, pgx.RowToStructByPos[Day]), `
		SELECT d.day, coalesce(a.replayed, 0), coalesce(a.in_progress, 0), coalesce(a.reused, 0),
			coalesce(a.misnamed, 0)
		FROM (SELECT (now() AT TIME ZONE 'UTC')::date - ago AS day FROM generate_series(0, $2 - 1) AS ago) AS d
		LEFT JOIN key_activity_days AS a ON a.org_id = $1 AND a.day = d.day
		ORDER BY d.day DESC`, orgID, activityDays)
}

// Release frees a stuck key: one that has a run is handed to the completer again, with all its attempts;
// one without a run is deleted, so that its request can be sent anew. A key that somebody holds or that
// is finished is not released. The deed is audited with its reason.
func (i *Inspector) Release(ctx context.Context, orgID, id uuid.UUID, audit core.AuditRecord) error {
	_, err := db.InTx(ctx, i.db, func(tx db.Tx) (struct{}, error) {
		var releasable, hasRun bool
		err := tx.QueryRow(ctx, `
			SELECT recovery_point <> 'finished' AND locked_until <= now(), validation_run_id IS NOT NULL
			FROM idempotency_keys WHERE org_id = $1 AND id = $2 FOR UPDATE`, orgID, id).Scan(&releasable, &hasRun)
		if errors.Is(err, pgx.ErrNoRows) {
			return struct{}{}, core.NotFound("idempotency key")
		}
		if err != nil {
			return struct{}{}, fmt.Errorf("lock key %s: %w", id, err)
		}
		if !releasable {
			return struct{}{}, core.NewError(core.CodeKeyNotReleasable,
				"Only a key whose request was abandoned can be released: this one is finished or somebody holds it.")
		}
		batch := tx.NewBatch()
		if hasRun {
			batch.Queue(`
				UPDATE idempotency_keys SET attempts = 0, retry_at = NULL WHERE org_id = $1 AND id = $2`, orgID, id)
		} else {
			batch.Queue(`DELETE FROM idempotency_keys WHERE org_id = $1 AND id = $2`, orgID, id)
		}
		core.Audit(batch, audit)
		return struct{}{}, batch.Send(ctx)
	})
	return err
}
