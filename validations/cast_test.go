package validations

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

func TestMain(m *testing.M) {
	coretest.Main(m)
}

// bundle is the service on a database of its own with one organization.
type bundle struct {
	db      *db.DB
	service *Service
	orgID   uuid.UUID
}

func newBundle(tb testing.TB) *bundle {
	tb.Helper()
	b := &bundle{db: coretest.OpenDatabase(tb), orgID: uuid.New()}
	var err error
	if b.service, err = NewService(b.db, nil, time.Minute); err != nil {
		tb.Fatalf("make service: %v", err)
	}
	b.exec(tb, `INSERT INTO organizations (id, slug, name) VALUES ($1, 'org', 'Org')`, b.orgID)
	return b
}

func (b *bundle) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := b.db.Pool.Exec(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// publish stores the definition as a workflow.
func (b *bundle) publish(tb testing.TB, definition Definition) WorkflowRef {
	tb.Helper()
	digest, err := db.InTx(tb.Context(), b.db, func(tx db.Tx) (Digest, error) {
		return StoreDefinition(tb.Context(), tx, b.orgID, definition)
	})
	if err != nil {
		tb.Fatalf("store definition: %v", err)
	}
	id := uuid.New()
	slug := "w-" + id.String()
	b.exec(tb, `
		WITH workflow AS (
			INSERT INTO workflows (org_id, id, slug, name, latest_version) VALUES ($1, $2, $3, 'W', 1))
		INSERT INTO workflow_versions (org_id, workflow_id, number, definition_digest) VALUES ($1, $2, 1, $4)`,
		b.orgID, id, slug, digest[:])
	return WorkflowRef{ID: id, Slug: slug, Version: 1, Definition: definition, Digest: digest}
}

// workflow publishes a definition with one step.
func (b *bundle) workflow(tb testing.TB) WorkflowRef {
	tb.Helper()
	return b.publish(tb, Definition{
		Accepts: []string{"application/json"},
		Steps:   []Step{{ID: "step", Name: "Step", Type: "test", Config: []byte("{}")}},
	})
}

// start creates a run on a small document.
func (b *bundle) start(tb testing.TB) uuid.UUID {
	tb.Helper()
	return b.startOn(tb, InlineContent([]byte("{}")))
}

func (b *bundle) startOn(tb testing.TB, content Content) uuid.UUID {
	tb.Helper()
	id, err := b.create(tb, b.prepared(tb, b.workflow(tb), content))
	if err != nil {
		tb.Fatalf("create run: %v", err)
	}
	return id
}

func (b *bundle) prepared(tb testing.TB, ref WorkflowRef, content Content) Prepared {
	tb.Helper()
	prepared, err := Prepare(Order{
		Principal: core.Principal{OrgID: b.orgID, OrgSlug: "org"}, Workflow: ref, Source: api.SourceAPI, RequestID: "r",
		Document: Document{Content: content, MediaType: "application/json", Filename: "a.json"},
	}, nil, time.Now())
	if err != nil {
		tb.Fatalf("prepare run: %v", err)
	}
	prepared.Run.UsageMetric = "runs"
	return prepared
}

// create creates a prepared run, or returns why it cannot be created.
func (b *bundle) create(tb testing.TB, prepared Prepared) (uuid.UUID, error) {
	tb.Helper()
	err := db.Do(tb.Context(), b.db, func(tx db.Tx) error {
		return b.insert(tx, prepared).Send(tb.Context())
	})
	return prepared.Run.ID, err
}

// insert returns a batch that inserts a prepared run.
func (b *bundle) insert(tx db.Tx, prepared Prepared) *db.Batch {
	batch := tx.NewBatch()
	QueueDocuments(batch, []Prepared{prepared})
	db.Grant(batch, []uuid.UUID{prepared.Run.ID})
	b.service.Create(batch, []Prepared{prepared})
	return batch
}

// fail completes a run with a failed step that has two errors and one finding, as its execution does.
func (b *bundle) fail(tb testing.TB, id uuid.UUID) {
	tb.Helper()
	b.exec(tb, `UPDATE validation_runs SET state = 'RUNNING', epoch = epoch + 1, attempts = 1, started_at = now()
		WHERE id = $1`, id)
	b.exec(tb, `INSERT INTO step_runs (org_id, id, run_id, ordinal, step_id, name, status, error_count, started_at,
		ended_at) VALUES ($1, gen_random_uuid(), $2, 0, 'step', 'Step', 'FAILED', 2, now(), now())`, b.orgID, id)
	b.exec(tb, `INSERT INTO findings (org_id, id, run_id, step_ordinal, ordinal, severity, code, message)
		VALUES ($1, gen_random_uuid(), $2, 0, 0, 'ERROR', 'test.bad', 'bad')`, b.orgID, id)
	b.exec(tb, `UPDATE validation_runs SET state = 'COMPLETED', result = 'FAIL', error_category = 'VALIDATION_FAILED',
		recovery_point = 1, error_count = 2, ended_at = now(), lease_until = NULL, sweep_after = NULL
		WHERE id = $1`, id)
}
