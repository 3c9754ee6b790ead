package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// part is the process that faults strike.
type part string

const (
	// web answers requests.
	web part = "web"
	// worker executes runs and finishes what was abandoned.
	worker part = "worker"
	// command is a command of the operator's.
	command part = "command"
)

// The boundaries that are calls to other services; their names distinguish them from commits.
const (
	callBilling   = "call to the billing service"
	callValidator = "call to the external validator"
	callReceiver  = "call to the receiver of the webhook"
	callStore     = "put into the object store"
)

// flow is something that the program does in one or more steps, each of which ends at a boundary.
type flow struct {
	name string
	part part
	// boundaries are the commits of the process, by what they write, and its calls, in their order.
	boundaries []string
	// whole tells that the process plays all parts, so that it executes the run which it has started.
	whole bool
	// goesOn tells that the process then executes the run, whose boundaries are those of another flow.
	goesOn bool
	// givesUp tells that the first boundary is the COMMIT of a transaction that is given up.
	givesUp bool
	// stored tells that large documents are in an object store.
	stored bool
	// shared tells that the boundaries are those of several runs at once.
	shared bool
	// settings win over those of all flows.
	settings []string
	// before brings the installation to where the flow begins.
	before func(tb testing.TB, s *stage)
	// request is the request that begins the flow, or that has begun it earlier where a worker goes on.
	request func(tb testing.TB, s *stage) request
	// status is that of the request's final answer.
	status int
	// counts is what the database holds in the end. What is common to all flows is checked beside it.
	counts map[string]int
	// charges is how many charges the billing service has been asked for in the end, and calls how many the validator.
	charges, calls int
}

const (
	// What the commits of more than one flow write. A start that finds no counter with room is not granted: its commit
	// leaves nothing. A start beyond the quota is then reserved.
	started    = begun + ", insert staged_jobs" + paid
	begun      = "insert submissions, insert idempotency_keys, update usage_counters, insert validation_runs"
	paid       = ", delete submissions, insert audit_records, delete idempotency_keys"
	opened     = "insert usage_counters"
	reserved   = begun + paid
	charged    = "update idempotency_keys, insert usage_counters, update validation_runs, update idempotency_keys"
	unheld     = "update idempotency_keys, update validation_runs, insert staged_jobs, update idempotency_keys"
	handedOver = "delete staged_jobs"
	chunk      = "insert uploads, insert upload_chunks"
	sealed     = "update uploads"
	leased     = "update validation_runs"
	stepDone   = "update validation_runs, insert step_runs"

	// An event is published and its webhook's job staged; that is handed over, and then takes the webhook's lease.
	published = "update events, insert webhook_deliveries, update webhooks, insert webhook_deliveries, " +
		"update webhooks, insert staged_jobs"
	hookLeased   = "update webhooks"
	attempted    = "update webhook_deliveries, insert webhook_attempts, update webhooks, insert audit_records"
	hookReleased = "update webhooks"

	runsCharged   = "SELECT coalesce(sum(used), 0)::bigint FROM usage_counters WHERE metric = 'runs'"
	runsBeyond    = "SELECT coalesce(sum(used), 0)::bigint FROM usage_counters WHERE metric = 'runs_overage'"
	runsCounted   = "SELECT count(*) FROM validation_runs WHERE usage_metric = 'runs'"
	beyondCounted = "SELECT count(*) FROM validation_runs WHERE usage_metric = 'runs_overage'"
	allRuns       = "SELECT count(*) FROM validation_runs"
	allSteps      = "SELECT count(*) FROM step_runs"
	jobsStaged    = "SELECT count(*) FROM staged_jobs"
	adopted       = "SELECT count(*) FROM uploads WHERE sweep_after IS NULL"
	keysHeld      = `SELECT count(*) FROM idempotency_keys
		WHERE recovery_point <> 'finished' OR locked_until IS NOT NULL`
)

func flows() []flow {
	return append(requestFlows(), workerFlows()...)
}

// toldFlow adds to the boundaries of a run those of telling its end to a webhook.
func toldFlow(boundaries ...string) []string {
	return append(boundaries, published, handedOver, hookLeased, callReceiver, attempted, hookReleased)
}

// requestFlows are struck in the server that answers.
func requestFlows() []flow {
	oneRun := map[string]int{allRuns: 1, runsCounted: 1, runsCharged: 1}
	oneBeyond := map[string]int{allRuns: 1, beyondCounted: 1, runsBeyond: 1, runsCharged: 0}
	return []flow{
		{
			name: "start", part: web, before: countersOpened, request: startBuilding, status: http.StatusCreated,
			counts:     oneRun,
			boundaries: []string{started, handedOver},
		},
		{
			name: "first", part: web, givesUp: true, request: startBuilding, status: http.StatusCreated, counts: oneRun,
			boundaries: []string{started, opened, started, handedOver},
		},
		{
			name: "local", part: web, whole: true, before: localHeard, request: startBuilding,
			status:     http.StatusCreated,
			counts:     map[string]int{allRuns: 1, runsCounted: 1, runsCharged: 1, allSteps: 2},
			boundaries: toldFlow(begun+paid, stepDone, stepDone),
		},
		{
			name: "large", part: web, before: countersOpened, request: startLarge, status: http.StatusCreated,
			counts: map[string]int{allRuns: 1, runsCounted: 1, runsCharged: 1, adopted: 1},
			boundaries: []string{
				chunk, chunk, sealed,
				"insert submissions, insert idempotency_keys, update usage_counters, update uploads, " +
					"insert validation_runs, insert staged_jobs" + paid,
				handedOver,
			},
		},
		{
			name: "overage", part: web, givesUp: true, before: beyondQuota, request: startBuilding,
			status: http.StatusCreated, counts: oneBeyond, charges: 1,
			boundaries: []string{started, opened, reserved, callBilling, charged, unheld, handedOver},
		},
		{
			name: "declined", part: web, givesUp: true, before: beyondMeans, request: startBuilding,
			status: http.StatusPaymentRequired,
			counts: map[string]int{
				allRuns: 1, runsBeyond: 0, runsCharged: 0,
				"SELECT count(*) FROM validation_runs WHERE state = 'COMPLETED' AND result = 'CANCELED'": 1,
			},
			charges: 1,
			boundaries: []string{
				started, opened, reserved, callBilling,
				"update idempotency_keys, update validation_runs, update idempotency_keys",
			},
		},
		{
			name: "create", part: web, request: createWorkflow, status: http.StatusCreated,
			counts: map[string]int{
				"SELECT count(*) FROM workflows WHERE slug = 'three-steps'":           1,
				"SELECT count(*) FROM audit_records WHERE action = 'workflow.create'": 1,
			},
			boundaries: []string{
				"insert idempotency_keys, insert workflows, insert definitions, insert workflow_versions, " +
					"insert audit_records, update idempotency_keys",
			},
		},
		{
			name: "rerun", part: web, before: finishedRun, request: rerun, status: http.StatusCreated,
			counts: map[string]int{allRuns: 2, runsCounted: 2, runsCharged: 2},
			boundaries: []string{
				"insert idempotency_keys, update usage_counters, insert validation_runs, insert staged_jobs, " +
					"insert audit_records, delete idempotency_keys",
				handedOver,
			},
		},
	}
}

// workerFlows are struck in the process that works in the background.
func workerFlows() []flow {
	oneRun := map[string]int{allRuns: 1, runsCounted: 1, runsCharged: 1}
	return []flow{
		{
			name: "run", part: worker, before: threeStepsQueued, request: startThreeSteps, status: http.StatusCreated,
			counts:     map[string]int{allRuns: 1, runsCounted: 1, runsCharged: 1, allSteps: 3},
			boundaries: toldFlow(leased, stepDone, stepDone, stepDone),
		},
		{
			name: "external", part: worker, before: externalQueued, request: startExternal, status: http.StatusCreated,
			counts: map[string]int{
				allRuns: 1, runsCounted: 1, runsCharged: 1, allSteps: 1, "SELECT count(*) FROM external_calls": 1,
			},
			calls: 1,
			boundaries: []string{
				leased, "insert external_calls", callValidator, "update external_calls",
				stepDone + ", update external_calls",
			},
		},
		{
			name: "shared", part: worker, shared: true, before: severalQueued, request: startFaulty,
			status: http.StatusCreated,
			// What else the worker has under way when a boundary is struck may come to pass after the test has moved
			// the time, so these leases have to end by themselves too.
			settings: []string{"SV_RUN_LEASE=10s"},
			counts: map[string]int{
				allRuns: 6, runsCounted: 6, runsCharged: 6, allSteps: 10, "SELECT count(*) FROM findings": 10,
			},
			boundaries: []string{leased, stepDone + ", insert findings"},
		},
		{
			name: "sweep", part: worker, before: runLost, request: startBuilding, status: http.StatusCreated,
			counts:     oneRun,
			boundaries: []string{"update validation_runs, insert staged_jobs"}, goesOn: true,
		},
		{
			name: "complete", part: worker, before: abandonedBeyondQuota, request: startBuilding,
			status: http.StatusCreated, charges: 1,
			counts:     map[string]int{allRuns: 1, beyondCounted: 1, runsBeyond: 1, runsCharged: 0},
			boundaries: []string{"update idempotency_keys", callBilling, charged, unheld}, goesOn: true,
		},
		{
			name: "purge", part: command, before: expiredKey, counts: map[string]int{
				allRuns: 1, "SELECT count(*) FROM idempotency_keys": 0,
			},
			boundaries: []string{
				"delete idempotency_keys", "delete key_activity", "delete key_events",
				"delete start_hours, delete key_activity_days",
			},
		},
	}
}

// request is an HTTP request that can be sent again.
type request struct {
	path, mediaType, token string
	body                   []byte
}

const key = "the-key"

func startBuilding(tb testing.TB, s *stage) request {
	tb.Helper()
	return start(s, program.Building(tb, key))
}

// startLarge starts a run on a document of two chunks.
func startLarge(tb testing.TB, s *stage) request {
	tb.Helper()
	o := program.Readings(tb, key)
	o.Body = bytes.Repeat(o.Body, 300<<10/len(o.Body))
	return start(s, o)
}

func startThreeSteps(tb testing.TB, s *stage) request {
	tb.Helper()
	return startOf(tb, s, "three-steps")
}

func startExternal(tb testing.TB, s *stage) request {
	tb.Helper()
	return startOf(tb, s, "external")
}

func startFaulty(tb testing.TB, s *stage) request {
	tb.Helper()
	return start(s, faulty(tb, key))
}

// faulty is an order for a document in which every step finds one error.
func faulty(tb testing.TB, key string) program.Order {
	tb.Helper()
	o := program.Building(tb, key)
	o.Body = []byte("[]")
	return o
}

func startOf(tb testing.TB, s *stage, workflow string) request {
	tb.Helper()
	o := program.Building(tb, key)
	o.Workflow = workflow
	return start(s, o)
}

func start(s *stage, o program.Order) request {
	return request{
		path: "/api/workflows/" + o.Workflow + "/start/", mediaType: o.MediaType, body: o.Body,
		token: s.tenant.Tokens.Executor,
	}
}

// step is a step of a workflow.
type step struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
}

// createWorkflow asks for a workflow whose three steps all pass the document of startBuilding.
func createWorkflow(tb testing.TB, s *stage) request {
	tb.Helper()
	var steps []step
	for n := range 3 {
		name := fmt.Sprintf("Step %d", n+1)
		steps = append(steps, step{
			ID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String(), Name: name, Type: "json_schema",
			Config: program.Sample(tb, "schemas/building.schema-step.json"),
		})
	}
	return create(tb, s, "three-steps", steps...)
}

func create(tb testing.TB, s *stage, slug string, steps ...step) request {
	tb.Helper()
	var draft struct {
		Slug       string `json:"slug"`
		Name       string `json:"name"`
		IsActive   bool   `json:"is_active"`
		Definition struct {
			Accepts []string `json:"accepts"`
			Steps   []step   `json:"steps"`
		} `json:"definition"`
	}
	draft.Slug, draft.Name, draft.IsActive = slug, slug, true
	draft.Definition.Accepts, draft.Definition.Steps = []string{"application/json"}, steps
	body, err := json.Marshal(draft)
	if err != nil {
		tb.Fatal(err)
	}
	return request{path: "/api/workflows/", mediaType: "application/json", token: s.tenant.Tokens.Owner, body: body}
}

func rerun(tb testing.TB, s *stage) request {
	tb.Helper()
	var id uuid.UUID
	err := s.DB.Pool.QueryRow(tb.Context(), `SELECT id FROM validation_runs ORDER BY created_at, id LIMIT 1`).Scan(&id)
	if err != nil {
		tb.Fatalf("find the run: %v", err)
	}
	return request{path: "/api/runs/" + id.String() + "/rerun/", token: s.tenant.Tokens.Executor}
}

// countersOpened leaves the counters of the month behind as the first starts of it do.
func countersOpened(tb testing.TB, s *stage) {
	tb.Helper()
	program.Change(tb, s.DB, `INSERT INTO usage_counters (org_id, metric, period_start, used, quota)
		SELECT id, 'runs', date_trunc('month', now() AT TIME ZONE 'UTC'), 0, run_quota FROM organizations`)
}

// localHeard is countersOpened with a webhook.
func localHeard(tb testing.TB, s *stage) {
	tb.Helper()
	countersOpened(tb, s)
	s.receiver = program.Listen(tb, s.aside(tb).URL(), s.Harbour.Tokens.Owner)
}

// beyondQuota makes the organization one that pays for each run.
func beyondQuota(tb testing.TB, s *stage) {
	tb.Helper()
	program.Execute(tb, s.Settings, "", "org", "set", s.tenant.Slug, "--runs", "0")
	program.Execute(tb, s.Settings, "", "org", "set", s.tenant.Slug, "--overage")
}

func beyondMeans(tb testing.TB, s *stage) {
	tb.Helper()
	beyondQuota(tb, s)
	s.billing.Usually(outside.Decline)
}

// queued starts a run whose job waits in Redis.
func queued(tb testing.TB, s *stage, r request) {
	tb.Helper()
	a := s.send(tb, r, key)
	program.WantCreated(tb, a)
	s.note(tb, a)
	program.Await(tb, "the job is handed over", func() bool { return program.Count(tb, s.DB, jobsStaged) == 0 })
}

func threeStepsQueued(tb testing.TB, s *stage) {
	tb.Helper()
	s.receiver = program.Listen(tb, s.aside(tb).URL(), s.Harbour.Tokens.Owner)
	program.WantCreated(tb, s.send(tb, createWorkflow(tb, s), "workflow"))
	queued(tb, s, startThreeSteps(tb, s))
}

// severalQueued starts runs of three organizations whose jobs wait in Redis: four of two steps and two of one.
func severalQueued(tb testing.TB, s *stage) {
	tb.Helper()
	base := s.aside(tb).URL()
	s.receiver = program.Listen(tb, base, s.Harbour.Tokens.Owner)
	third := s.Enroll(tb, base, "third")
	for i, tenant := range []program.Tenant{s.Harbour, s.Tiny, s.Tiny, third, third} {
		client := program.NewClient(tb, tenant.Tokens.Executor)
		program.WantCreated(tb, client.Start(tb, base, faulty(tb, fmt.Sprintf("other-%d", i))))
	}
	queued(tb, s, startFaulty(tb, s))
}

// externalQueued is threeStepsQueued with one step that an external validator does.
func externalQueued(tb testing.TB, s *stage) {
	tb.Helper()
	// The secret follows from the address, so the address is there first.
	listener := httptest.NewUnstartedServer(nil)
	secret := program.Execute(tb, s.Settings, "", "signing-secret", "--org", s.tenant.Slug,
		"--validator", "http://"+listener.Listener.Addr().String())
	s.validator = outside.NewValidator(strings.TrimSpace(secret))
	listener.Config.Handler = s.validator
	listener.Start()
	tb.Cleanup(listener.Close)
	called := step{
		ID: uuid.NewSHA1(uuid.NameSpaceURL, []byte("external")).String(), Name: "External", Type: "http",
		Config: json.RawMessage(`{"url": "` + listener.URL + `"}`),
	}
	program.WantCreated(tb, s.send(tb, create(tb, s, "external", called), "workflow"))
	queued(tb, s, startExternal(tb, s))
}

// finishedRun leaves a run behind that is over.
func finishedRun(tb testing.TB, s *stage) {
	tb.Helper()
	program.WantCreated(tb, s.send(tb, startBuilding(tb, s), "first"))
	p := s.background(tb, s.Settings)
	program.AwaitRest(tb, s.DB)
	p.Kill()
}

// runLost leaves a run behind whose job Redis has forgotten.
func runLost(tb testing.TB, s *stage) {
	tb.Helper()
	queued(tb, s, startBuilding(tb, s))
	s.flushRedis(tb)
	s.passTime(tb)
}

// abandonedBeyondQuota leaves a start behind whose server died before it could charge.
func abandonedBeyondQuota(tb testing.TB, s *stage) {
	tb.Helper()
	beyondQuota(tb, s)
	first := program.Serve(tb, s.Settings, "--only", "web")
	s.billing.Script(outside.DropBefore)
	s.billing.Watch(func(now outside.Moment, _ outside.Charge) {
		if now == outside.Received {
			first.Kill()
		}
	})
	_, err := s.try(tb.Context(), startBuilding(tb, s), first.URL(), key)
	s.billing.Watch(func(outside.Moment, outside.Charge) {})
	if err == nil || program.Count(tb, s.DB, keysHeld) != 1 {
		tb.Fatalf("err = %v, want a start that is abandoned", err)
	}
	s.passTime(tb)
}

// expiredKey leaves a key behind that can be deleted.
func expiredKey(tb testing.TB, s *stage) {
	tb.Helper()
	finishedRun(tb, s)
	program.Change(tb, s.DB, `UPDATE idempotency_keys SET created_at = now() - interval '2 days',
		expires_at = now() - interval '1 day'`)
}
