package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// entryQuery reads entries; $1 is the organization and $2 the completer's most attempts.
const entryQuery = entryColumns + `idempotency_keys` + entryActivity + ` WHERE k.org_id = $1) AS e`

// unfinishedEntryQuery is entryQuery for entries that are not finished, which are few among all of an organization.
// Nothing but their index leads from this expression to them, so the planner has no other way.
const unfinishedEntryQuery = entryColumns + `idempotency_keys` + entryActivity +
	` WHERE CASE WHEN k.recovery_point <> 'finished' THEN k.org_id END = $1) AS e`

// namedEntryQuery is entryQuery for the few entries of the key $4. They are found first, without comparing ids, so that
// no plan looks through all keys of the organization in the order of their ids.
const namedEntryQuery = entryColumns +
	`(SELECT * FROM idempotency_keys WHERE org_id = $1 AND key = $4 OFFSET 0)` + entryActivity + `) AS e`

const entryColumns = `
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
		FROM `

const entryActivity = ` AS k LEFT JOIN LATERAL (` + activityOfKey + `) AS a ON true`

// activityOfKey is for a lateral join: its limit makes the planner look up one key after the other.
const activityOfKey = `SELECT replays, mismatches, conflicts, last_replay_at, last_refusal_at FROM key_activity
	WHERE org_id = k.org_id AND key_id = k.id LIMIT 1`

// queueEntries finds one page of entries and one more, which shows whether another page follows.
func (i *Inspector) queueEntries(
	reads *db.Reads, orgID uuid.UUID, filter EntryFilter, cursor core.Cursor, found *[]Entry,
) {
	if filter.Search != "" {
		i.queueSearchedEntries(reads, orgID, filter, cursor, found)
		return
	}
	comparison, order, from := cursor.Window()
	span := filter.span()
	reads.Queue(db.AllInto(found, pgx.RowToStructByPos[Entry]), entriesFrom(filter)+` AND id `+comparison+` $3
			AND id BETWEEN $8 AND $9 AND created_at >= $10 AND created_at < $11
			AND ($4 = '' OR key = $4) AND ($5 = '' OR endpoint = $5) AND ($6 = '' OR state = $6)
		ORDER BY id `+order+` LIMIT $7`,
		orgID, i.maxAttempts, from, filter.Key, filter.Endpoint, filter.State, cursor.Size+1,
		span.first, span.last, span.since, span.until)
}

// entrySpan is when the keys of a list were first used. Ids begin with their time, so that the primary key bounds what
// is read; the exact times are compared row by row.
type entrySpan struct {
	first, last  uuid.UUID
	since, until time.Time
}

// idSlack is far more than the time between the creation of a key's id and created_at.
const idSlack = time.Minute

// span returns the times of a filter. The tags have validated the texts.
func (f EntryFilter) span() entrySpan {
	span := entrySpan{last: uuid.Max, until: time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)}
	if at, err := time.Parse(time.RFC3339, f.Since); err == nil {
		span.since, span.first = at, core.FirstIDAt(at.Add(-idSlack))
	}
	if at, err := time.Parse(time.RFC3339, f.Until); err == nil {
		span.until, span.last = at, core.FirstIDAt(at.Add(idSlack))
	}
	return span
}

// queueSearchedEntries is queueEntries for a part of the key, which no index answers: it compares the newest
// core.MaxScanned keys of the page.
func (i *Inspector) queueSearchedEntries(
	reads *db.Reads, orgID uuid.UUID, filter EntryFilter, cursor core.Cursor, found *[]Entry,
) {
	comparison, order, from := cursor.Window()
	span := filter.span()
	reads.Queue(db.AllInto(found, pgx.RowToStructByPos[Entry]), entryColumns+`(
			SELECT * FROM idempotency_keys WHERE org_id = $1 AND id `+comparison+` $3 AND id BETWEEN $10 AND $11
			ORDER BY id `+order+` LIMIT $9)`+entryActivity+`) AS e
		WHERE key ILIKE $8 AND created_at >= $12 AND created_at < $13
			AND ($4 = '' OR key = $4) AND ($5 = '' OR endpoint = $5) AND ($6 = '' OR state = $6)
		ORDER BY id `+order+` LIMIT $7`,
		orgID, i.maxAttempts, from, filter.Key, filter.Endpoint, filter.State, cursor.Size+1,
		"%"+likeText.Replace(filter.Search)+"%", core.MaxScanned, span.first, span.last, span.since, span.until)
}

// likeText makes a text stand for itself in a pattern.
var likeText = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// queueLastScanned finds the last key that a search compares, unless it compares all that are left.
func queueLastScanned(
	reads *db.Reads, orgID uuid.UUID, filter EntryFilter, cursor core.Cursor, last *[]uuid.UUID,
) {
	comparison, order, from := cursor.Window()
	span := filter.span()
	reads.Queue(db.AllInto(last, pgx.RowTo[uuid.UUID]), `
		SELECT id FROM idempotency_keys WHERE org_id = $1 AND id `+comparison+` $2 AND id BETWEEN $4 AND $5
		ORDER BY id `+order+` OFFSET $3 LIMIT 1`, orgID, from, core.MaxScanned-1, span.first, span.last)
}

// entriesFrom returns the query that finds the entries of a filter with the least rows.
func entriesFrom(filter EntryFilter) string {
	if filter.Key != "" {
		return namedEntryQuery + ` WHERE true`
	}
	switch api.KeyState(filter.State) {
	case api.KeyStateInProgress, api.KeyStateAbandoned, api.KeyStateDead:
		return unfinishedEntryQuery + ` WHERE true`
	case api.KeyStateExpired:
		// The planner cannot derive it from the CASE of the columns.
		return entryQuery + ` WHERE expires_at <= now()`
	default:
		return entryQuery + ` WHERE true`
	}
}

// queueEntry finds one key with its phase changes. The read fails with pgx.ErrNoRows when there is no such key.
func (i *Inspector) queueEntry(reads *db.Reads, orgID, id uuid.UUID, found *Entry) {
	reads.Queue(db.OneInto(found, pgx.RowToStructByPos[Entry]), entryQuery+` WHERE id = $3`,
		orgID, i.maxAttempts, id)
	queuePhaseChanges(reads, orgID, id, &found.changes)
}

// maxPhaseChanges is how many phase changes of a key are shown, the latest.
const maxPhaseChanges = 100

// queuePhaseChanges finds the latest phase changes of a key, oldest first.
func queuePhaseChanges(reads *db.Reads, orgID, id uuid.UUID, found *[]phaseChange) {
	reads.Queue(db.AllInto(found, pgx.RowToStructByPos[phaseChange]), `
		SELECT at, was, point, epoch FROM (
			SELECT id, at, was, point, epoch FROM key_events WHERE org_id = $1 AND key_id = $2
			ORDER BY id DESC LIMIT $3) AS latest
		ORDER BY id`, orgID, id, maxPhaseChanges)
}

// queueOrigin finds what only the page of a key shows of its first request.
func queueOrigin(reads *db.Reads, orgID, id uuid.UUID, found *origin) {
	reads.Queue(db.OneInto(found, pgx.RowToStructByPos[origin]), `
		SELECT request_hash, request_ip, user_agent FROM idempotency_keys WHERE org_id = $1 AND id = $2`, orgID, id)
}

// queueResponse finds at most one response: that of a finished key.
func queueResponse(reads *db.Reads, orgID, id uuid.UUID, found *[]storedResponse) {
	reads.Queue(db.AllInto(found, pgx.RowToStructByPos[storedResponse]), `
		SELECT response_status, response_headers, substring(response_body FOR $3), octet_length(response_body)
		FROM idempotency_keys WHERE org_id = $1 AND id = $2 AND recovery_point = 'finished'`, orgID, id, maxShownBody)
}

// queueStuck counts stuck keys among those of all organizations that are unfinished, which have an index of their own.
// The limits bound the scan where an outage has left many.
func queueStuck(reads *db.Reads, orgID uuid.UUID, n *int64) {
	reads.Queue(db.OneInto(n, pgx.RowTo[int64]), `
		SELECT count(*) FROM (
			SELECT FROM (
				SELECT org_id FROM idempotency_keys WHERE recovery_point <> 'finished' AND locked_until <= now()
				ORDER BY locked_until LIMIT $3) AS unfinished
			WHERE org_id = $1 LIMIT $2) AS stuck`,
		orgID, MaxStuck, countedUnfinished)
}

// StuckEverywhere lists stuck keys of all organizations for operators, longest stuck first. The partial index of
// unfinished keys serves only this very condition.
func (i *Inspector) StuckEverywhere(ctx context.Context, limit int) ([]StuckKey, error) {
	keys, err := db.All(ctx, i.db.Pool, pgx.RowToStructByPos[StuckKey], `
		SELECT org_id, id, key, endpoint, attempts, last_error, created_at, attempts >= $1 FROM idempotency_keys
		WHERE recovery_point <> 'finished' AND locked_until <= now() ORDER BY locked_until LIMIT $2`,
		i.maxAttempts, limit)
	if err != nil {
		return nil, fmt.Errorf("list stuck keys: %w", err)
	}
	return keys, nil
}

// RunsStartedWith returns the organization's runs that were started with a key that is still kept: one for each
// operation that the key was used for.
func (i *Inspector) RunsStartedWith(ctx context.Context, orgID uuid.UUID, key string) ([]uuid.UUID, error) {
	runs, err := db.All(ctx, i.db.Pool, pgx.RowTo[uuid.UUID], `
		SELECT validation_run_id FROM idempotency_keys
		WHERE org_id = $1 AND key = $2 AND validation_run_id IS NOT NULL`, orgID, key)
	if err != nil {
		return nil, fmt.Errorf("look up the runs of a key: %w", err)
	}
	return runs, nil
}

// activityDays is how many days are kept and shown, today included.
const activityDays = 30

// queueDays finds the activity of each day. The days are generated, because a day without activity has no row.
func queueDays(reads *db.Reads, orgID uuid.UUID, days *[]Day) {
	reads.Queue(db.AllInto(days, pgx.RowToStructByPos[Day]), `
		SELECT d.day, coalesce(a.replayed, 0), coalesce(a.in_progress, 0), coalesce(a.reused, 0),
			coalesce(a.misnamed, 0)
		FROM (SELECT (now() AT TIME ZONE 'UTC')::date - ago AS day FROM generate_series(0, $2 - 1) AS ago) AS d
		LEFT JOIN key_activity_days AS a ON a.org_id = $1 AND a.day = d.day
		ORDER BY d.day DESC`, orgID, activityDays)
}

// Replays returns how often each of the organization's keys with these ids was replayed. Keys that are no longer kept
// are missing from the answer.
func (i *Inspector) Replays(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]int64, error) {
	if len(ids) == 0 {
		return map[uuid.UUID]int64{}, nil
	}
	replays, err := db.Map[uuid.UUID, int64](ctx, i.db.Pool, `
		SELECT k.id, coalesce(a.replays, 0) FROM unnest($2::uuid[]) AS asked (id)
		CROSS JOIN LATERAL (
			SELECT org_id, id FROM idempotency_keys WHERE org_id = $1 AND id = asked.id LIMIT 1) AS k
		LEFT JOIN LATERAL (`+activityOfKey+`) AS a ON true`, orgID, ids)
	if err != nil {
		return nil, fmt.Errorf("read the replays of keys: %w", err)
	}
	return replays, nil
}

// Hours sums up the starts in the hours that began at the given time or later. It is pgx because database/sql, and so
// GORM, reads no arrays.
func (i *Inspector) Hours(ctx context.Context, orgID uuid.UUID, since time.Time) (Hours, error) {
	hours := Hours{Replays: make(map[time.Time]int64), Took: make([]int64, buckets())}
	var hour time.Time
	var replays int64
	var took []int64
	err := db.Each(ctx, i.db.Pool, []any{&hour, &replays, &took}, func() error {
		hours.Replays[hour.UTC()] = replays
		for bucket, n := range took {
			hours.Took[bucket] += n
		}
		return nil
	}, `
		SELECT hour, replays, took FROM start_hours WHERE org_id = $1 AND hour >= $2`, orgID, since)
	if err != nil {
		return Hours{}, fmt.Errorf("read the hours of starts: %w", err)
	}
	return hours, nil
}

// countedUnfinished is the most unfinished keys that are counted.
const countedUnfinished = 10_000

// KeyCounts counts unfinished keys, which are few, up to a limit. Finished keys, the expired ones among them, are as
// many as the planner's statistics say, because counting millions would take longer than a scrape may.
func (i *Inspector) KeyCounts(ctx context.Context) (KeyCounts, error) {
	var inProgress, abandoned, dead, all int64
	var oldest float64
	err := i.db.Pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE locked_until > now()),
			count(*) FILTER (WHERE locked_until <= now() AND attempts < $1),
			count(*) FILTER (WHERE locked_until <= now() AND attempts >= $1),
			coalesce(extract(epoch FROM now() - min(created_at)
				FILTER (WHERE locked_until > now() OR attempts < $1)), 0)::float8,
			(SELECT reltuples::bigint FROM pg_class WHERE oid = 'idempotency_keys'::regclass)
		FROM (SELECT locked_until, attempts, created_at FROM idempotency_keys
			WHERE recovery_point <> 'finished' ORDER BY locked_until LIMIT $2) AS unfinished`,
		i.maxAttempts, countedUnfinished).Scan(&inProgress, &abandoned, &dead, &oldest, &all)
	if err != nil {
		return KeyCounts{}, fmt.Errorf("count keys: %w", err)
	}
	return KeyCounts{
		ByState: map[api.KeyState]int64{
			api.KeyStateInProgress: inProgress, api.KeyStateAbandoned: abandoned, api.KeyStateDead: dead,
			api.KeyStateFinished: max(all-inProgress-abandoned-dead, 0),
		},
		OldestUnfinished: core.Seconds(oldest),
	}, nil
}

// HasReplays reports whether any request of the organization was replayed on a day that is still kept.
func (i *Inspector) HasReplays(ctx context.Context, orgID uuid.UUID) (bool, error) {
	var has bool
	err := i.db.Pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM key_activity_days WHERE org_id = $1 AND replayed > 0)`, orgID).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for replays: %w", err)
	}
	return has, nil
}
