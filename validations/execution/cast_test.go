package execution

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/external"
)

func TestMain(m *testing.M) {
	coretest.Main(m)
}

// testBundle is the service on a database of its own with one organization.
type testBundle struct {
	db        *db.DB
	runs      *validations.Service
	executor  *Executor
	announced *announcements
	staged    *jobs.Signal
	orgID     uuid.UUID
}

// announcements are those of each run, in order.
type announcements struct {
	mu    sync.Mutex
	ofRun map[uuid.UUID][]validations.Progress
	// canceled is closed when another process has canceled what is executed here.
	canceled chan struct{}
}

// Announce keeps the progress.
func (a *announcements) Announce(_, runID uuid.UUID, progress validations.Progress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ofRun == nil {
		a.ofRun = make(map[uuid.UUID][]validations.Progress)
	}
	a.ofRun[runID] = append(a.ofRun[runID], progress)
}

// AwaitCompleted waits until the test says that the runs were canceled elsewhere.
func (a *announcements) AwaitCompleted(ctx context.Context, _, _ uuid.UUID) bool {
	select {
	case <-a.canceled:
		return true
	case <-ctx.Done():
		return false
	}
}

func testConfig() Config {
	return Config{
		EngineMemory: 64 << 20,
		Lease:        time.Minute, SweepAfter: time.Minute, StepTimeout: time.Minute, RunTimeout: time.Hour,
		MaxAttempts: 3,
	}
}

func setup(tb testing.TB, cfg Config) *testBundle {
	tb.Helper()
	b := &testBundle{
		db: coretest.OpenDatabase(tb), staged: jobs.NewSignal(), orgID: uuid.New(),
		announced: &announcements{canceled: make(chan struct{})},
	}
	ring, err := keyring.Parse(keyring.Generate())
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Signing = external.NewKeys(b.db, ring)
	if b.runs, err = validations.NewService(b.db, nil, cfg.SweepAfter); err != nil {
		tb.Fatalf("make service: %v", err)
	}
	b.executor, err = New(b.db, cfg, b.runs, b.staged, b.announced, metrics.New("").Runs,
		slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatalf("make executor: %v", err)
	}
	b.exec(tb, `INSERT INTO organizations (id, slug, name) VALUES ($1, 'org', 'Org')`, b.orgID)
	return b
}

// engine is an engine that a test gives to a step.
type engine func(ctx context.Context, doc engines.Document) (engines.Report, error)

// Run calls the function.
func (e engine) Run(ctx context.Context, doc engines.Document) (engines.Report, error) {
	return e(ctx, doc)
}

func passing(context.Context, engines.Document) (engines.Report, error) {
	return engines.Report{}, nil
}

func failing(context.Context, engines.Document) (engines.Report, error) {
	return engines.Report{
		Errors: 2, Findings: []engines.Finding{{Severity: engines.SeverityError, Code: "test.bad", Message: "bad"}},
	}, nil
}

// unreadable finds what every engine of the format finds.
func unreadable(context.Context, engines.Document) (engines.Report, error) {
	found := engines.Finding{Severity: engines.SeverityError, Code: "json.malformed", Message: "bad", Line: 3}
	return engines.Report{Errors: 1, Findings: []engines.Finding{found}}, nil
}

func exhausted(context.Context, engines.Document) (engines.Report, error) {
	return engines.Report{}, &engines.ExhaustedError{Reason: "needed more than 20s of processor time"}
}

// counting counts how often the engine was run.
func counting(n *atomic.Int64, e engine) engine {
	return func(ctx context.Context, doc engines.Document) (engines.Report, error) {
		n.Add(1)
		return e(ctx, doc)
	}
}

// start starts a run whose steps are these engines and returns its staged job.
func (b *testBundle) start(tb testing.TB, steps ...engine) jobs.Job {
	tb.Helper()
	return b.startDefinition(tb, validations.Definition{}, steps...)
}

// startDefinition makes the definition's missing steps, one for each engine.
func (b *testBundle) startDefinition(tb testing.TB, definition validations.Definition, steps ...engine) jobs.Job {
	tb.Helper()
	return b.create(tb, b.workflow(tb, definition, steps...))
}

// workflow publishes the definition with its missing steps.
func (b *testBundle) workflow(tb testing.TB, definition validations.Definition,
	steps ...engine,
) validations.WorkflowRef {
	tb.Helper()
	// The name makes the definition another than that of any other run.
	definition.Accepts = []string{"text/" + uuid.NewString()}
	ready := plan{}
	for i, step := range steps {
		if i == len(definition.Steps) {
			definition.Steps = append(definition.Steps, validations.Step{})
		}
		definition.Steps[i].ID, definition.Steps[i].Name = uuid.NewString(), "Step"
		definition.Steps[i].Type, definition.Steps[i].Config = "test", []byte("{}")
		ready.engines = append(ready.engines, step)
	}
	ready.definition = definition
	ref := b.publish(tb, definition)
	if len(steps) > 0 {
		b.executor.plans.Add(ref.Digest, ready)
	}
	return ref
}

// publish stores the definition as a workflow.
func (b *testBundle) publish(tb testing.TB, definition validations.Definition) validations.WorkflowRef {
	tb.Helper()
	digest, err := db.InTx(tb.Context(), b.db, func(tx db.Tx) (validations.Digest, error) {
		return validations.StoreDefinition(tb.Context(), tx, b.orgID, definition)
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
	return validations.WorkflowRef{ID: id, Slug: slug, Version: 1, Definition: definition, Digest: digest}
}

func (b *testBundle) create(tb testing.TB, ref validations.WorkflowRef) jobs.Job {
	tb.Helper()
	job, err := b.createOf(tb, ref, validations.InlineContent([]byte("{}")))
	if err != nil {
		tb.Fatalf("create run: %v", err)
	}
	return job
}

// createOf starts a run on the content, or returns why it cannot be started.
func (b *testBundle) createOf(tb testing.TB, ref validations.WorkflowRef, content validations.Content) (jobs.Job,
	error,
) {
	tb.Helper()
	prepared := b.prepared(tb, ref, content)
	err := db.Do(tb.Context(), b.db, func(tx db.Tx) error {
		batch := tx.NewBatch()
		b.insert(batch, prepared)
		return batch.Send(tb.Context())
	})
	return jobs.Job{Kind: validations.JobExecute, OrgID: b.orgID, SubjectID: prepared.Run.ID, Epoch: 1}, err
}

// insert adds the rows of a prepared run to a batch.
func (b *testBundle) insert(batch *db.Batch, prepared validations.Prepared) {
	validations.QueueDocuments(batch, []validations.Prepared{prepared})
	db.Grant(batch, []uuid.UUID{prepared.Run.ID})
	b.runs.Create(batch, []validations.Prepared{prepared})
}

func (b *testBundle) prepared(tb testing.TB, ref validations.WorkflowRef,
	content validations.Content,
) validations.Prepared {
	tb.Helper()
	prepared, err := b.prepare(ref, content)
	if err != nil {
		tb.Fatalf("prepare run: %v", err)
	}
	return prepared
}

func (b *testBundle) prepare(ref validations.WorkflowRef, content validations.Content) (validations.Prepared, error) {
	prepared, err := validations.Prepare(validations.Order{
		Principal: core.Principal{OrgID: b.orgID, OrgSlug: "org"}, Workflow: ref, Source: api.SourceAPI,
		RequestID: "r",
		Document:  validations.Document{Content: content, MediaType: "application/json", Filename: "a.json"},
	}, nil, time.Now())
	prepared.Run.UsageMetric = "runs"
	return prepared, err
}

func (b *testBundle) execute(tb testing.TB, job jobs.Job) {
	tb.Helper()
	if err := b.executor.Execute(tb.Context(), job); err != nil {
		tb.Errorf("Execute = %v, want nil", err)
	}
}

func (b *testBundle) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := b.db.Pool.Exec(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// one reads one value.
func one[T any](tb testing.TB, b *testBundle, query string, args ...any) T {
	tb.Helper()
	return coretest.One[T](tb, b.db, query, args...)
}

// runRow is what execution changes of a run.
type runRow struct {
	State         api.RunState
	Result        api.RunResult
	Category      api.ErrorCategory
	Errors        int64
	RecoveryPoint int
	Epoch         int
	Attempts      int
	Leased, Swept bool
}

func (b *testBundle) run(tb testing.TB, id uuid.UUID) runRow {
	tb.Helper()
	rows, err := b.db.Pool.Query(tb.Context(), `
		SELECT state, result, error_category, error_count, recovery_point, epoch, attempts, lease_until IS NOT NULL,
			sweep_after IS NOT NULL
		FROM validation_runs WHERE id = $1`, id)
	if err != nil {
		tb.Fatal(err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[runRow])
	if err != nil {
		tb.Fatal(err)
	}
	return row
}

// steps lists the statuses of a run's stored steps in order.
func (b *testBundle) steps(tb testing.TB, id uuid.UUID) string {
	tb.Helper()
	return one[string](tb, b, `SELECT coalesce(string_agg(ordinal || ' ' || status, ', ' ORDER BY ordinal), '')
		FROM step_runs WHERE run_id = $1`, id)
}
