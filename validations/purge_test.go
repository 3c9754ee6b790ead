package validations

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const day = 24 * time.Hour

// kept is what is left of a run.
type kept struct {
	Content, Findings bool
	// ContentPurged and FindingsPurged are what the run shows.
	ContentPurged, FindingsPurged bool
	Errors                        int64
	Steps                         int
}

func (b *bundle) kept(tb testing.TB, id uuid.UUID) kept {
	tb.Helper()
	const query = `SELECT s.content IS NOT NULL, EXISTS (SELECT FROM findings AS f WHERE f.run_id = r.id),
			r.content_purged_at IS NOT NULL, r.findings_purged_at IS NOT NULL, r.error_count,
			(SELECT count(*) FROM step_runs AS t WHERE t.run_id = r.id)
		FROM validation_runs AS r JOIN submissions AS s ON s.id = r.submission_id WHERE r.id = $1`
	rows, err := b.db.Pool.Query(tb.Context(), query, id)
	if err != nil {
		tb.Fatal(err)
	}
	left, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[kept])
	if err != nil {
		tb.Fatal(err)
	}
	return left
}

// ended creates a run that has failed so long ago.
func (b *bundle) ended(tb testing.TB, ago time.Duration) uuid.UUID {
	tb.Helper()
	id := b.start(tb)
	b.fail(tb, id)
	b.age(tb, id, ago)
	return id
}

func (b *bundle) age(tb testing.TB, id uuid.UUID, ago time.Duration) {
	tb.Helper()
	b.exec(tb, `UPDATE validation_runs SET ended_at = now() - make_interval(secs => $2) WHERE id = $1`,
		id, ago.Seconds())
}

// rerun starts a run on the document of another one.
func (b *bundle) rerun(tb testing.TB, earlier uuid.UUID) (uuid.UUID, error) {
	tb.Helper()
	return db.InTx(tb.Context(), b.db, func(tx db.Tx) (uuid.UUID, error) { return b.rerunIn(tb, tx, earlier) })
}

func (b *bundle) rerunIn(tb testing.TB, tx db.Tx, earlier uuid.UUID) (uuid.UUID, error) {
	tb.Helper()
	run, err := b.service.Find(tb.Context(), b.orgID, earlier)
	if err != nil {
		tb.Fatal(err)
	}
	prepared, err := Prepare(Order{
		Principal: core.Principal{OrgID: b.orgID, OrgSlug: "org"}, Source: api.SourceAPI, RequestID: "r",
		Workflow: WorkflowRef{
			ID: run.WorkflowID, Slug: run.WorkflowSlug, Version: 1, Digest: Digest(run.DefinitionDigest),
		},
	}, &run, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	prepared.Run.UsageMetric = "runs"
	batch := tx.NewBatch()
	db.Grant(batch, []uuid.UUID{prepared.Run.ID})
	documents := QueueDocumentLocks(batch, []Prepared{prepared})
	b.service.Create(batch, []Prepared{prepared})
	if err := batch.Send(tb.Context()); err != nil {
		return prepared.Run.ID, err
	}
	return prepared.Run.ID, documents.Require(prepared.Run)
}

func (b *bundle) purge(tb testing.TB, policy Retention, want Purged) {
	tb.Helper()
	got, err := b.service.Purge(tb.Context(), policy)
	if err != nil {
		tb.Fatalf("Purge: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("purged (-want +got):\n%s", diff)
	}
}

func TestPurge(t *testing.T) {
	t.Parallel()
	whole := kept{Content: true, Findings: true, Errors: 2, Steps: 1}

	t.Run("RemovesExpiredContentAndKeepsTheCounts", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		young, middle, old := b.ended(t, day), b.ended(t, 40*day), b.ended(t, 100*day)
		running := b.start(t)
		b.exec(t, `INSERT INTO external_calls (org_id, id, run_id, ordinal, state, answer, answered_at)
			SELECT org_id, gen_random_uuid(), id, 0, 'ANSWERED', 'an answer', now() FROM validation_runs`)
		policy := Retention{Content: 30 * day, Findings: 90 * day}
		b.purge(t, policy, Purged{Contents: 2, Findings: 1})
		b.purge(t, policy, Purged{})
		for job, want := range map[uuid.UUID]kept{
			young:   whole,
			middle:  {Findings: true, ContentPurged: true, Errors: 2, Steps: 1},
			old:     {ContentPurged: true, FindingsPurged: true, Errors: 2, Steps: 1},
			running: {Content: true},
		} {
			if diff := cmp.Diff(want, b.kept(t, job)); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		}
		got := coretest.One[uuid.UUID](t, b.db, `SELECT run_id FROM external_calls WHERE answer IS NULL`)
		if got != old {
			t.Errorf("the answer to run %s was removed, want that to %s", got, old)
		}
		body, err := b.service.Show(t.Context(), b.orgID, "org", old)
		if err != nil {
			t.Fatal(err)
		}
		if step := body.Steps[0]; body.Counts.Errors != 2 || step.Counts != body.Counts || len(step.Issues) != 0 ||
			body.ContentPurgedAt.IsZero() || body.FindingsPurgedAt.IsZero() {
			t.Errorf("run = %+v, want its counts and when the rest was removed", body)
		}
	})

	t.Run("KeepsForEver", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		job := b.ended(t, 1000*day)
		b.purge(t, Retention{}, Purged{})
		b.exec(t, `UPDATE organizations SET content_retention = '0', findings_retention = '0'`)
		b.purge(t, Retention{Content: day, Findings: day}, Purged{})
		if diff := cmp.Diff(whole, b.kept(t, job)); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
	})

	t.Run("PrefersTheOrganizationsOwnPeriod", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.ended(t, 2*day)
		b.exec(t, `UPDATE organizations SET content_retention = '24 hours', findings_retention = '72 hours'`)
		b.purge(t, Retention{Content: 30 * day, Findings: day}, Purged{Contents: 1})
	})

	t.Run("PurgesBatchAfterBatch", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.copies(t, b.ended(t, 2*day), 2*purgeBatch+5)
		b.purge(t, Retention{Content: day, Findings: day},
			Purged{Contents: 2*purgeBatch + 6, Findings: 2*purgeBatch + 6})
	})

	// A run that expires behind the batches is left to the next purge. If each batch began at the first organization
	// again, a purge would take the square of their number.
	t.Run("GoesOnWhereTheLastBatchEnded", func(t *testing.T) {
		t.Parallel()
		for name, policy := range map[string]Retention{"Contents": {Content: day}, "Findings": {Findings: day}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := newBundle(t)
				late := b.ended(t, 0)
				b.copies(t, b.ended(t, 2*day), purgeBatch)
				b.exec(t, `CREATE FUNCTION expire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					UPDATE validation_runs SET ended_at = now() - interval '3 days' WHERE id = '`+late.String()+`';
					RETURN NULL;
				END $$`)
				b.exec(t, `CREATE TRIGGER expire AFTER UPDATE ON validation_runs
					WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION expire()`)
				for _, runs := range []int64{purgeBatch + 1, 1} {
					want := Purged{Contents: runs}
					if name == "Findings" {
						want = Purged{Findings: runs}
					}
					b.purge(t, policy, want)
				}
			})
		}
	})

	t.Run("SkipsLockedRows", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		b.ended(t, 2*day)
		policy := Retention{Content: day, Findings: day}
		err := db.Do(t.Context(), b.db, func(tx db.Tx) error {
			if _, err := tx.Exec(t.Context(), `SELECT FROM submissions FOR SHARE`); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `SELECT FROM validation_runs FOR SHARE`)
			b.purge(t, policy, Purged{})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.purge(t, policy, Purged{Contents: 1, Findings: 1})
	})
}

// copies multiplies a run and its submission.
func (b *bundle) copies(tb testing.TB, id uuid.UUID, n int) {
	tb.Helper()
	coretest.Prepare(tb, b.db.Pool.Config().ConnString(), `
		WITH ids AS (SELECT gen_random_uuid() AS run, gen_random_uuid() AS submission FROM generate_series(1, $2::int)),
		submitted AS (
			INSERT INTO submissions (org_id, id, media_type, size, sha256, content)
			SELECT s.org_id, ids.submission, s.media_type, s.size, s.sha256, s.content FROM ids, submissions AS s
				JOIN validation_runs AS r ON r.submission_id = s.id WHERE r.id = $1)
		INSERT INTO validation_runs (org_id, id, workflow_id, workflow_version, workflow_slug, definition_digest,
			submission_id, source, state, result, error_category, error_count, usage_metric, usage_period, request_id,
			ended_at)
		SELECT r.org_id, ids.run, r.workflow_id, r.workflow_version, r.workflow_slug, r.definition_digest,
			ids.submission, r.source, r.state, r.result, r.error_category, r.error_count, r.usage_metric,
			r.usage_period, r.request_id, r.ended_at
		FROM ids, validation_runs AS r WHERE r.id = $1`, id, n)
}

func TestPurgeKeepsWhatRerunsNeed(t *testing.T) {
	t.Parallel()
	policy := Retention{Content: day}

	t.Run("UntilTheLastRerunHasExpired", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		first := b.ended(t, 3*day)
		second, err := b.rerun(t, first)
		if err != nil {
			t.Fatal(err)
		}
		b.purge(t, policy, Purged{})
		b.fail(t, second)
		b.purge(t, policy, Purged{})
		b.age(t, second, 2*day)
		b.purge(t, policy, Purged{Contents: 2})
		for _, job := range []uuid.UUID{first, second} {
			if got := b.kept(t, job); got.Content || !got.ContentPurged {
				t.Errorf("kept = %+v, want the document gone for both", got)
			}
		}
	})

	t.Run("WhileOneIsBeingCommitted", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		first := b.ended(t, 3*day)
		err := db.Do(t.Context(), b.db, func(tx db.Tx) error {
			_, err := b.rerunIn(t, tx, first)
			b.purge(t, policy, Purged{})
			return err
		})
		if err != nil || !b.kept(t, first).Content {
			t.Errorf("rerun = %v, kept = %+v, want the document", err, b.kept(t, first))
		}
	})

	t.Run("AlsoWhenOneIsCommittedBehindItsSnapshot", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		first := b.ended(t, 3*day)
		// The purge reads the organizations when it has its snapshot. It waits there.
		b.exec(t, `ALTER TABLE organizations RENAME TO every_organization`)
		b.exec(t, `CREATE FUNCTION wait() RETURNS boolean LANGUAGE plpgsql
			AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN true; END'`)
		b.exec(t, `CREATE VIEW organizations AS SELECT * FROM every_organization WHERE wait()`)
		var purges sync.WaitGroup
		err := db.Do(t.Context(), b.db, func(tx db.Tx) error {
			if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(1)`); err != nil {
				return err
			}
			purges.Go(func() { b.purge(t, policy, Purged{}) })
			coretest.Eventually(t, func() bool {
				return coretest.One[bool](t, b.db, `SELECT EXISTS (SELECT FROM pg_locks
					WHERE locktype = 'advisory' AND mode = 'ShareLock' AND NOT granted
						AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`)
			})
			_, err := b.rerun(t, first)
			return err
		})
		purges.Wait()
		if err != nil || !b.kept(t, first).Content {
			t.Errorf("rerun = %v, kept = %+v, want the document", err, b.kept(t, first))
		}
	})

	t.Run("RacesWithReruns", func(t *testing.T) {
		t.Parallel()
		b := newBundle(t)
		for range 40 {
			first := b.ended(t, 3*day)
			barrier := make(chan struct{})
			var racers sync.WaitGroup
			var refused error
			racers.Go(func() {
				<-barrier
				_, refused = b.rerun(t, first)
			})
			racers.Go(func() {
				<-barrier
				if _, err := b.service.Purge(t.Context(), policy); err != nil {
					t.Errorf("Purge: %v", err)
				}
			})
			close(barrier)
			racers.Wait()
			got := b.kept(t, first)
			if (refused == nil) != got.Content || got.Content == got.ContentPurged ||
				(refused != nil && !errors.Is(refused, api.CodeDocumentGone)) {
				t.Fatalf("rerun = %v and kept = %+v, want either the rerun or the purge", refused, got)
			}
		}
	})
}

func TestPurgeDoesNotBlockStarts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.copies(t, b.ended(t, 2*day), 3*purgeBatch)
	var purges sync.WaitGroup
	for range 3 {
		purges.Go(func() {
			if _, err := b.service.Purge(t.Context(), Retention{Content: day, Findings: day}); err != nil {
				t.Errorf("Purge: %v", err)
			}
		})
	}
	for range 20 {
		b.fail(t, b.start(t))
	}
	purges.Wait()
	b.purge(t, Retention{Content: day, Findings: day}, Purged{})
	const purged = `SELECT count(*) FROM validation_runs
		WHERE content_purged_at IS NOT NULL AND findings_purged_at IS NOT NULL`
	if got, want := coretest.One[int](t, b.db, purged), 3*purgeBatch+1; got != want {
		t.Errorf("purged runs = %d, want %d", got, want)
	}
}

func TestPurgeUsesItsIndexes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.copies(t, b.ended(t, 0), 20*purgeBatch)
	b.exec(t, `ANALYZE`)
	for statement, want := range map[string][]string{
		lockContents():   {"ix_validation_runs_content", "ix_validation_runs_reruns", "organizations_pkey"},
		deleteFindings(): {"ix_validation_runs_findings", "uq_findings_ordinal", "organizations_pkey"},
	} {
		plan, err := db.InTx(t.Context(), b.db, func(tx db.Tx) (string, error) {
			// The tables of a test are so small that reading them whole is cheaper.
			if _, err := tx.Exec(t.Context(), `SET LOCAL enable_seqscan = off`); err != nil {
				return "", err
			}
			rows, err := tx.Query(t.Context(), "EXPLAIN "+statement, day.Seconds(), purgeBatch, uuid.Nil, time.Time{})
			if err != nil {
				return "", err
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			return strings.Join(lines, "\n"), err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range want {
			if !strings.Contains(plan, index) {
				t.Errorf("plan without %s:\n%s", index, plan)
			}
		}
	}
}
