package requestlog

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// maxProblem is how many bytes of a problem document are kept; a longer one loses its list of errors.
const maxProblem = 8 << 10

// row is an entry as it is written.
type row struct {
	Entry

	id               uuid.UUID
	headers, problem string
}

// writeEntries writes entries and counts in one transaction. The times are moved to the database's clock, because those
// of processes differ.
func writeEntries(ctx context.Context, database *db.DB, taken *buffer) error {
	ahead, err := clockAhead(ctx, database)
	if err != nil {
		return err
	}
	rows := make([]row, len(taken.entries))
	for i, entry := range taken.entries {
		entry.At = entry.At.Add(ahead)
		if rows[i], err = newRow(entry); err != nil {
			return err
		}
	}
	return db.Do(ctx, database, func(tx db.Tx) error {
		batch := tx.NewBatch()
		if len(rows) > 0 {
			insertRows(batch, rows)
		}
		upsertRefusals(batch, taken.refusals)
		return batch.Send(ctx)
	})
}

// clockAhead measures by how much the database's clock is ahead of this process's, to half of a round trip.
func clockAhead(ctx context.Context, database *db.DB) (time.Duration, error) {
	var now time.Time
	began := time.Now()
	if err := database.Pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	trip := time.Since(began)
	return now.Sub(began.Add(trip / 2)), nil
}

func newRow(entry Entry) (row, error) {
	headers, err := json.Marshal(entry.Headers)
	if err != nil {
		return row{}, fmt.Errorf("encode headers: %w", err)
	}
	made := row{Entry: entry, id: idAt(entry.At), headers: string(headers)}
	if entry.Problem == nil {
		return made, nil
	}
	problem, err := json.Marshal(entry.Problem)
	if err == nil && len(problem) > maxProblem {
		cut := *entry.Problem
		cut.Detail, cut.Errors = core.StorableUpTo(cut.Detail, maxProblem/8), nil
		problem, err = json.Marshal(cut)
	}
	if err != nil {
		return row{}, fmt.Errorf("encode a problem: %w", err)
	}
	made.problem = core.Storable(string(problem))
	return made, nil
}

// idAt makes an id that sorts by the time, to a quarter of a microsecond (RFC 9562, section 6.2, method 3).
func idAt(at time.Time) uuid.UUID {
	id := core.FirstIDAt(at)
	// Read never fails (since Go 1.24 it ends the process instead).
	_, _ = rand.Read(id[8:])
	fraction := at.Sub(at.Truncate(time.Millisecond)) * 4096 / time.Millisecond
	binary.BigEndian.PutUint16(id[6:8], 0x7000|uint16(fraction)) //nolint:gosec // less than 4096
	id[8] = id[8]&0x3f | 0x80
	return id
}

// insertRows adds rows in the order of their primary key. A key of NUL characters cannot come here, because the engine
// refuses it.
func insertRows(batch *db.Batch, rows []row) {
	batch.Queue(`
		INSERT INTO request_log (org_id, id, at, took_us, method, path, endpoint, status, code, key, token_id, address,
			request_id, original_request_id, replayed, run_id, headers, body_size, body_digest, problem)
		SELECT org_id, id, at, took_us, method, path, endpoint, status, code, key, token_id,
			nullif(address, '')::inet, request_id, original_request_id, replayed, run_id, headers, body_size,
			body_digest, nullif(problem, '')
		FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::bigint[], $5::text[], $6::text[], $7::text[],
			$8::smallint[], $9::text[], $10::text[], $11::uuid[], $12::text[], $13::text[], $14::text[], $15::boolean[],
			$16::uuid[], $17::text[], $18::bigint[], $19::bytea[], $20::text[])
			AS r (org_id, id, at, took_us, method, path, endpoint, status, code, key, token_id, address, request_id,
				original_request_id, replayed, run_id, headers, body_size, body_digest, problem)
		ORDER BY org_id, id`,
		db.Column(rows, func(r *row) *uuid.UUID { return &r.OrgID }),
		db.Column(rows, func(r *row) *uuid.UUID { return &r.id }),
		db.Column(rows, func(r *row) time.Time { return r.At }),
		db.Column(rows, func(r *row) int64 { return max(r.Took.Microseconds(), 0) }),
		db.Column(rows, func(r *row) string { return r.Method }),
		db.Column(rows, func(r *row) string { return r.Path }),
		db.Column(rows, func(r *row) string { return string(r.Endpoint) }),
		db.Column(rows, func(r *row) int16 { return int16(r.Status) }), //nolint:gosec // an HTTP status
		db.Column(rows, func(r *row) string { return string(r.Code) }),
		db.Column(rows, func(r *row) string { return r.Key }),
		db.Column(rows, func(r *row) *uuid.UUID { return orNil(&r.TokenID) }),
		db.Column(rows, func(r *row) string { return addressOf(r.Entry) }),
		db.Column(rows, func(r *row) string { return r.RequestID }),
		db.Column(rows, func(r *row) string { return r.OriginalRequestID }),
		db.Column(rows, func(r *row) bool { return r.Replayed }),
		db.Column(rows, func(r *row) *uuid.UUID { return orNil(&r.RunID) }),
		db.Column(rows, func(r *row) string { return r.headers }),
		db.Column(rows, func(r *row) int64 { return r.BodySize }),
		db.Column(rows, func(r *row) []byte { return digestOf(r.Entry) }),
		db.Column(rows, func(r *row) string { return r.problem }))
}

// orNil returns nil for the zero UUID.
func orNil(id *uuid.UUID) *uuid.UUID {
	if *id == uuid.Nil {
		return nil
	}
	return id
}

func addressOf(entry Entry) string {
	if !entry.Address.IsValid() {
		return ""
	}
	return entry.Address.String()
}

func digestOf(entry Entry) []byte {
	if entry.BodyDigest == nil {
		return nil
	}
	return entry.BodyDigest[:]
}

// dayCounts are the refusals of an organization by one code.
type dayCounts struct {
	refused
	refusalCounts
}

// upsertRefusals adds to the day on which they are written, by the clock of the database. The rows are sorted, because
// two processes that upsert the same rows in different orders would deadlock.
func upsertRefusals(batch *db.Batch, refusals map[refused]refusalCounts) {
	counted := make([]dayCounts, 0, len(refusals))
	for what, counts := range refusals {
		counted = append(counted, dayCounts{refused: what, refusalCounts: counts})
	}
	batch.Queue(`
		INSERT INTO refusal_days AS d (org_id, day, code, starts, others)
		SELECT org_id, now() AT TIME ZONE 'UTC', code, starts, others
		FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[]) AS c (org_id, code, starts, others)
		ORDER BY org_id, code
		ON CONFLICT ON CONSTRAINT refusal_days_pkey DO UPDATE SET starts = d.starts + excluded.starts,
			others = d.others + excluded.others`,
		db.Column(counted, func(c *dayCounts) *uuid.UUID { return &c.orgID }),
		db.Column(counted, func(c *dayCounts) string { return string(c.code) }),
		db.Column(counted, func(c *dayCounts) int64 { return c.starts }),
		db.Column(counted, func(c *dayCounts) int64 { return c.others }))
}
