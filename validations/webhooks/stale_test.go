package webhooks

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// dueWebhook makes a webhook with a delivery that is due, whose lease another process has under the second epoch.
func dueWebhook(t *testing.T) (*db.DB, lease) {
	t.Helper()
	database := coretest.OpenDatabase(t)
	held := lease{orgID: uuid.New(), id: uuid.New(), epoch: 2}
	for _, statement := range []string{
		`INSERT INTO organizations (id, slug, name) SELECT $1, 'org', 'Org' WHERE $2::uuid IS NOT NULL`,
		`INSERT INTO webhooks (org_id, id, url, sealed, epoch, due_at, lease_until) VALUES
			($1, $2, 'https://example.com/', decode(repeat('00', 68), 'hex'), 2, now(), now() + interval '1 hour')`,
		`INSERT INTO events (org_id, position, type, data)
			SELECT $1, 1, 'key.abandoned', '{}' WHERE $2::uuid IS NOT NULL`,
		`INSERT INTO webhook_deliveries (org_id, webhook_id, position) VALUES ($1, $2, 1)`,
	} {
		if _, err := database.Pool.Exec(t.Context(), statement, held.orgID, held.id); err != nil {
			t.Fatal(err)
		}
	}
	return database, held
}

// A process whose lease was taken over reads nothing more, and leaves the lease of its successor alone.
func TestAStaleDelivererStops(t *testing.T) {
	t.Parallel()
	database, held := dueWebhook(t)
	d := NewDeliverer(database, Config{Timeout: time.Minute}, metrics.New("").Webhooks, slog.New(slog.DiscardHandler))
	stale := held
	stale.epoch = 1
	for epoch, want := range map[int]int{1: 0, 2: 1} {
		asking := held
		asking.epoch = epoch
		if due, err := d.due(t.Context(), asking); len(due) != want || err != nil {
			t.Errorf("due under epoch %d = %v, %v, want %d", epoch, due, err, want)
		}
	}
	d.release(t.Context(), stale)
	if !coretest.One[bool](t, database, `SELECT lease_until > now() FROM webhooks`) {
		t.Error("a stale process has given up the lease of its successor")
	}
	d.release(t.Context(), held)
	if !coretest.One[bool](t, database, `SELECT lease_until IS NULL FROM webhooks`) {
		t.Error("the holder has not given up its lease")
	}
}

// Positions are given by one process at a time: who reads them in between would miss an event.
func TestOnePublisherAtATime(t *testing.T) {
	t.Parallel()
	database, _ := dueWebhook(t)
	if _, err := database.Pool.Exec(t.Context(), `
		INSERT INTO events (org_id, type, data) SELECT id, 'key.abandoned', '{}' FROM organizations`); err != nil {
		t.Fatal(err)
	}
	publisher := NewPublisher(database, Config{Timeout: time.Minute}, jobs.NewSignal())
	err := db.Do(t.Context(), database, func(tx db.Tx) error {
		if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, int64(publishLock)); err != nil {
			return err
		}
		n, err := publisher.RunOnce(t.Context())
		if n != 0 {
			t.Errorf("published beside another process = %d, want nothing", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := publisher.RunOnce(t.Context()); n != 1 || err != nil {
		t.Errorf("published = %d, %v, want 1", n, err)
	}
}

// A webhook whose job waits in a long backlog gets no second one, or the backlog would grow by itself.
func TestAJobThatWaitsIsNotStagedAgain(t *testing.T) {
	t.Parallel()
	database, _ := dueWebhook(t)
	publisher := NewPublisher(database, Config{Timeout: time.Minute}, jobs.NewSignal())
	for _, want := range []int{1, 0} {
		if _, err := database.Pool.Exec(t.Context(), `UPDATE webhooks SET lease_until = now()`); err != nil {
			t.Fatal(err)
		}
		if n, err := publisher.RunOnce(t.Context()); n != want || err != nil {
			t.Errorf("staged = %d, %v, want %d", n, err, want)
		}
	}
}

// When the clock of the database was set back, events still get places behind those that were read.
func TestPositionsOnlyGrow(t *testing.T) {
	t.Parallel()
	database, _ := dueWebhook(t)
	const ahead = 1 << 60
	if _, err := database.Pool.Exec(t.Context(), `
		INSERT INTO events (org_id, position, type, data) SELECT id, position, 'key.abandoned', '{}'
		FROM organizations, unnest(ARRAY[$1, NULL]::bigint[]) AS position`, ahead); err != nil {
		t.Fatal(err)
	}
	publisher := NewPublisher(database, Config{Timeout: time.Minute}, jobs.NewSignal())
	if n, err := publisher.RunOnce(t.Context()); n != 1 || err != nil {
		t.Fatalf("published = %d, %v, want 1", n, err)
	}
	if last := coretest.One[int64](t, database, `SELECT max(position) FROM events`); last != ahead+1 {
		t.Errorf("last position = %d, want %d", last, ahead+1)
	}
}
