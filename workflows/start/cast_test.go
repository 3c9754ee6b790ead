package start

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/validations/progress"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

func TestMain(m *testing.M) {
	coretest.Main(m)
}

// bundle is a Starter with organizations to start runs for.
type bundle struct {
	db      *db.DB
	starter *Starter
	users   *users.Service
	// local is closed, so that runs are staged, until a test opens it.
	local *execution.Local
}

// localPlaces is how many runs may be executed where they are started.
const localPlaces = 8

func setup(t *testing.T) bundle {
	t.Helper()
	database := coretest.OpenDatabase(t)
	staged := jobs.NewSignal()
	measured := metrics.New("")
	runs, err := validations.NewService(database, nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	members, err := users.NewService(database, core.NewValidator(), users.Config{})
	if err != nil {
		t.Fatal(err)
	}
	guard := idempotency.NewGuard(database, time.Hour, nil, admin.NewActivity(), measured.Keys)
	executor, err := execution.New(database, execution.Config{
		Lease: time.Minute, SweepAfter: time.Minute, StepTimeout: time.Minute, RunTimeout: time.Hour, MaxAttempts: 3,
		EngineMemory: 64 << 20,
	}, runs, staged, progress.NewWaiters(database), measured.Runs, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	local := execution.NewLocal(executor, localPlaces, time.Minute)
	return bundle{
		db: database, users: members, local: local,
		starter: New(
			database, Config{CommitTimeout: 3 * time.Minute, EngineMemory: 64 << 20}, runs, guard, local, staged, nil,
			measured.Starts),
	}
}

// tenant is an organization with a workflow.
type tenant struct {
	principal core.Principal
	workflow  validations.WorkflowRef
}

func (b bundle) tenant(t *testing.T, quota int64) tenant {
	t.Helper()
	slug := "t-" + uuid.NewString()
	org, err := b.users.CreateOrganization(t.Context(), slug, slug, &quota)
	if err != nil {
		t.Fatal(err)
	}
	workflow := validations.WorkflowRef{
		ID: uuid.New(), Slug: "documents", Version: 1, Active: true,
		Definition: validations.Definition{
			Accepts: []string{"application/json"},
			Steps: []validations.Step{{
				ID: "schema", Name: "Schema", Type: "json_schema", Config: []byte(`{"schema": {"type": "string"}}`),
			}},
		},
	}
	workflow.Digest, err = db.InTx(t.Context(), b.db, func(tx db.Tx) (validations.Digest, error) {
		digest, err := validations.StoreDefinition(t.Context(), tx, org.ID, workflow.Definition)
		if err != nil {
			return digest, err
		}
		batch := tx.NewBatch()
		batch.Queue(`INSERT INTO workflows (org_id, id, slug, name, latest_version)
			VALUES ($1, $2, $3, 'Documents', 1)`, org.ID, workflow.ID, workflow.Slug)
		batch.Queue(`INSERT INTO workflow_versions (org_id, workflow_id, number, definition_digest)
			VALUES ($1, $2, 1, $3)`, org.ID, workflow.ID, digest[:])
		return digest, batch.Send(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	return tenant{principal: core.Principal{OrgID: org.ID, OrgSlug: slug, Role: api.RoleOwner}, workflow: workflow}
}

// start prepares a start with the key ("" is none) for a document.
func (tn tenant) start(t *testing.T, key, content string) *attempt {
	t.Helper()
	prepared, err := prepare(Request{
		Principal: tn.principal, Workflow: tn.workflow, Key: idempotency.Key{Value: key, Given: key != ""},
		KeyLifetime: time.Hour, Source: api.SourceAPI,
		Body: body.Body{
			Content: validations.InlineContent([]byte(content)), MediaType: "application/json",
			FingerprintMediaType: "application/json", ContentDigest: idempotency.DigestBytes([]byte(content)),
		},
		Caller: idempotency.Caller{Method: http.MethodPost, Path: "/", RequestID: "r-" + content},
	})
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

// commit commits a batch and returns it.
func (b bundle) commit(ctx context.Context, batch ...*attempt) []*attempt {
	b.starter.commitBatch(ctx, batch)
	return batch
}

// outcomeOf says in a word what a start came to.
func (b bundle) outcomeOf(t *testing.T, a *attempt) string {
	t.Helper()
	switch answer, err := b.starter.answer(t.Context(), a); {
	case err != nil:
		return string(core.AsError(err).Code)
	case answer.Replayed:
		return "replayed"
	default:
		return "created"
	}
}

func (b bundle) checkOutcomes(t *testing.T, attempts []*attempt, want ...string) {
	t.Helper()
	for i, a := range attempts {
		if got := b.outcomeOf(t, a); got != want[i] {
			t.Errorf("start %d: %s (%v), want %s", i, got, a.err, want[i])
		}
	}
}

// counts are the rows that starts have made for an organization.
type counts struct {
	keys, submissions, runs, jobs, audits, used int
}

func (b bundle) counts(t *testing.T, tn tenant) counts {
	t.Helper()
	var c counts
	err := b.db.Pool.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM idempotency_keys WHERE org_id = $1), (SELECT count(*) FROM submissions WHERE org_id = $1),
		(SELECT count(*) FROM validation_runs WHERE org_id = $1), (SELECT count(*) FROM staged_jobs WHERE org_id = $1),
		(SELECT count(*) FROM audit_records WHERE org_id = $1 AND action = 'run.start'),
		(SELECT coalesce(sum(used), 0) FROM usage_counters WHERE org_id = $1)`, tn.principal.OrgID).
		Scan(&c.keys, &c.submissions, &c.runs, &c.jobs, &c.audits, &c.used)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b bundle) checkCounts(t *testing.T, tn tenant, want counts) {
	t.Helper()
	if got := b.counts(t, tn); got != want {
		t.Errorf("rows = %+v, want %+v", got, want)
	}
}

// all is what n keyed starts leave behind.
func all(n int) counts {
	return counts{keys: n, submissions: n, runs: n, jobs: n, audits: n, used: n}
}
