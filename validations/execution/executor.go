package execution

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/core/tracing"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/external"
)

// cachedPlans is how many compiled definitions stay in memory.
const cachedPlans = 256

// Config bounds the execution of runs.
type Config struct {
	// Lease is how long a worker may be silent before another one takes the run over. The heartbeat renews the lease
	// three times as often.
	Lease time.Duration
	// SweepAfter is how long a staged run may wait before the sweeper stages it again. It doubles with every sweep of
	// the run.
	SweepAfter time.Duration
	// StepTimeout and RunTimeout bound one step, and all steps of a run from the beginning of the first. A definition
	// may set less.
	StepTimeout time.Duration
	RunTimeout  time.Duration
	// MaxAttempts is how often a run is begun before it ends in ERROR.
	MaxAttempts int
	// EngineMemory is the budget of all engines of the process together, in bytes (engines.Weight).
	EngineMemory int64
	External     ExternalConfig
	// Tracer is nil where nothing is traced.
	Tracer *tracing.Tracer
	// Signing has the keys that calls of external validators are signed with.
	Signing *external.Keys
}

// Executor executes runs.
type Executor struct {
	db      *db.DB
	cfg     Config
	runs    *validations.Service
	staged  *jobs.Signal
	metrics *metrics.Runs
	log     *slog.Logger
	// plans are never invalidated, because a definition never changes under its digest.
	plans      *lru.Cache[validations.Digest, plan]
	compiling  singleflight.Group
	validators *external.Client
	progress   Progress
	leases     batcher[jobs.Job, lease]
	steps      batcher[stepEnd, stepWritten]
	handOvers  batcher[validations.Run, struct{}]
	// places are those of the engines of runs from the queue.
	places *share.Places
	// memory is the budget of all engines. It has places for all that may run.
	memory   *share.Places
	priority *startPriority
	// abandoned counts engines that ignored the end of their context and still run.
	abandoned atomic.Int64
}

// Progress is how processes know how far runs have come.
type Progress interface {
	// Announce says that a run has come so far.
	Announce(orgID, runID uuid.UUID, progress validations.Progress)
	// AwaitCompleted returns true when the run is completed, in whichever process, and false when ctx ends before.
	AwaitCompleted(ctx context.Context, orgID, runID uuid.UUID) bool
}

// New makes an Executor. It wakes staged when it stages jobs, and announces the progress of runs.
func New(
	database *db.DB, cfg Config, runs *validations.Service, staged *jobs.Signal, progress Progress,
	measured *metrics.Runs, log *slog.Logger,
) (*Executor, error) {
	plans, err := lru.New[validations.Digest, plan](cachedPlans)
	if err != nil {
		return nil, fmt.Errorf("make the cache of plans: %w", err)
	}
	e := &Executor{
		db: database, cfg: cfg, runs: runs, staged: staged, progress: progress, metrics: measured, log: log,
		plans:      plans,
		validators: external.NewClient(external.NewPolicy(cfg.External.Allow), maxFirstRetryPause).Traced(cfg.Tracer),
		places:     share.New(enginesPerCPU*runtime.GOMAXPROCS(0), 0),
		memory:     share.New(math.MaxInt32, cfg.EngineMemory),
		priority:   newStartPriority(),
	}
	e.leases = newBatcher(func(jobs.Job) int { return 1 }, e.acquireAll)
	e.steps = newBatcher(stepEnd.rows, e.commitSteps)
	e.handOvers = newBatcher(func(validations.Run) int { return 1 }, e.handOverAll)
	return e, nil
}

// Tasks registers the handler of the jobs that execute runs.
func (e *Executor) Tasks(handle func(jobs.Kind, jobs.Handler)) {
	handle(validations.JobExecute, e.Execute)
}

// plan is a definition that is ready to be executed.
type plan struct {
	definition validations.Definition
	engines    []engines.Engine
}

// plan returns the compiled definition of a run, from the cache if it is there. Runs that need the same one at once
// share one compilation, because hundreds may begin together.
func (e *Executor) plan(ctx context.Context, run validations.Run) (plan, error) {
	digest := validations.Digest(run.DefinitionDigest)
	if cached, ok := e.plans.Get(digest); ok {
		return cached, nil
	}
	key := string(append(run.OrgID[:], digest[:]...))
	shared, err, _ := e.compiling.Do(key, func() (any, error) {
		return e.compile(context.WithoutCancel(ctx), run.OrgID, digest)
	})
	compiled, _ := shared.(plan) // There is no other type.
	return compiled, err
}

// compile puts the compiled definition into the cache, and returns it.
func (e *Executor) compile(ctx context.Context, orgID uuid.UUID, digest validations.Digest) (plan, error) {
	definition, err := e.runs.Definition(ctx, orgID, digest)
	if err != nil {
		return plan{}, err
	}
	compiled, err := definition.Compile()
	if err != nil {
		return plan{}, err
	}
	ready := plan{definition: definition, engines: compiled}
	e.plans.Add(digest, ready)
	return ready, nil
}

// Places is the usage of the places for the engines of runs from the queue.
func (e *Executor) Places() share.Usage { return e.places.Usage() }

// Memory is the usage of the memory of all engines of the process.
func (e *Executor) Memory() share.Usage { return e.memory.Usage() }
