package tasks_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

const (
	// plannedAt is how often PostgreSQL plans a prepared statement before it keeps a plan.
	plannedAt = 6
	// slotsOfWorkers are few, so that nearly all of a backlog stays where it is.
	slotsOfWorkers = 16
)

// stageSpread stages jobs of that many organizations, the same number for each.
func (b *testBundle) stageSpread(tb testing.TB, orgs, each int) {
	tb.Helper()
	coretest.Prepare(tb, b.db.Pool.Config().ConnString(), `INSERT INTO staged_jobs (kind, org_id, subject_id, epoch)
		SELECT $1::text, org.id, gen_random_uuid(), 1
		FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $2::integer)) AS org,
			generate_series(1, $3::integer)`, string(kindCheck), orgs, each)
}

// rowsRead returns how many rows of the outbox were read so far, and how often it was read from end to end.
func (b *testBundle) rowsRead(tb testing.TB) (int64, int64) {
	tb.Helper()
	for _, conn := range b.db.Pool.AcquireAllIdle(tb.Context()) {
		_, err := conn.Exec(tb.Context(), `SELECT pg_stat_force_next_flush()`)
		conn.Release()
		if err != nil {
			tb.Fatal(err)
		}
	}
	var rows, scans int64
	err := b.db.Pool.QueryRow(tb.Context(), `
		SELECT sum(i.idx_tup_read)::bigint, min(t.seq_scan)
		FROM pg_stat_user_tables AS t JOIN pg_stat_user_indexes AS i ON i.relid = t.relid
		WHERE t.relname = 'staged_jobs'`).Scan(&rows, &scans)
	if err != nil {
		tb.Fatal(err)
	}
	return rows, scans
}

// What a batch reads depends on the slots of the workers, and not on how much is staged or by how many.
func TestLargeBacklogsAreNotReadThrough(t *testing.T) {
	t.Parallel()
	const most = 10 * slotsOfWorkers
	for name, backlog := range map[string]struct{ orgs, each int }{
		"OfOneOrganization":   {1, 20_000},
		"OfManyOrganizations": {10_000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, redisServer(t))
			b.enqueuer = b.newEnqueuer(slotsOfWorkers)
			for range plannedAt {
				b.run(t, 0)
			}
			b.stageSpread(t, backlog.orgs, backlog.each)
			b.stage(t, newJob())
			rows, scans := b.rowsRead(t)
			if n, err := b.enqueuer.RunOnce(t.Context()); n == 0 || err != nil {
				t.Fatalf("run once = %d, %v, want jobs to be handed over", n, err)
			}
			read, scanned := b.rowsRead(t)
			if read-rows > most || scanned != scans {
				t.Errorf("a batch read %d rows, and all of them %d times, want %d at most and 0", read-rows,
					scanned-scans, most)
			}
		})
	}
}
