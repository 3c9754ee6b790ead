package validations

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/external"
)

// JobExecute asks for the execution of a run.
const JobExecute jobs.Kind = "validations.execute"

// cachedDefinitions is how many definitions stay in memory, read and compiled.
const cachedDefinitions = 256

// Config bounds the execution of runs.
type Config struct {
	// Lease is how long a holder may be silent before another may take the run over; the heartbeat
	// renews it three times as often.
	Lease time.Duration
	// SweepAfter is how long a pending run may lie before the sweeper stages it again; it doubles with
	// every sweep of the run.
	SweepAfter time.Duration
	// StepTimeout and RunTimeout bound one step, and all steps of a run from the beginning of the first. A
	// definition may set less.
	StepTimeout time.Duration
	RunTimeout  time.Duration
	// MaxAttempts is how often a run is begun before it ends in ERROR.
	MaxAttempts int
	External    ExternalConfig
}

// Service creates, executes and reads runs.
type Service struct {
	db      *db.DB
	cfg     Config
	staged  *jobs.Signal
	figures *metrics.Runs
	log     *slog.Logger
	// Definitions never change, so what is cached under a digest stays true.
	definitions *lru.Cache[Digest, Definition]
	compiled    *lru.Cache[Digest, program]
	validators  *external.Client
	leases      groups[jobs.Job, lease]
	stepEnds    groups[stepEnd, stepWritten]
	// shared are the places of the runs that come from the queue.
	shared places
	// abandoned counts engines that did not end with their context and still run.
	abandoned atomic.Int64
}

// NewService makes the service.
func NewService(
	database *db.DB, cfg Config, staged *jobs.Signal, figures *metrics.Runs, log *slog.Logger,
) (*Service, error) {
	definitions, err := lru.New[Digest, Definition](cachedDefinitions)
	if err != nil {
		return nil, fmt.Errorf("make the cache of definitions: %w", err)
	}
	compiled, err := lru.New[Digest, program](cachedDefinitions)
	if err != nil {
		return nil, fmt.Errorf("make the cache of programs: %w", err)
	}
	s := &Service{
		db: database, cfg: cfg, staged: staged, figures: figures, log: log, definitions: definitions,
		compiled:   compiled,
		validators: external.NewClient(external.NewPolicy(cfg.External.Allow), firstCallPause),
	}
	s.shared = make(places, enginesPerCPU*runtime.GOMAXPROCS(0))
	s.leases = newGroups(func(jobs.Job) int { return 1 }, s.acquireAll)
	s.stepEnds = newGroups(stepEnd.rows, s.commitSteps)
	return s, nil
}

// program is a definition that is ready to be executed.
type program struct {
	definition Definition
	engines    []engines.Engine
}

// program compiles a definition, or finds it compiled.
func (s *Service) program(ctx context.Context, run Run) (program, error) {
	digest := Digest(run.DefinitionDigest)
	if ready, ok := s.compiled.Get(digest); ok {
		return ready, nil
	}
	definition, err := s.Definition(ctx, run.OrgID, digest)
	if err != nil {
		return program{}, err
	}
	compiled, err := definition.compile()
	if err != nil {
		return program{}, err
	}
	ready := program{definition: definition, engines: compiled}
	s.compiled.Add(digest, ready)
	return ready, nil
}

// Definition reads a definition of the organization by its digest. It is shared: do not change it.
func (s *Service) Definition(ctx context.Context, orgID uuid.UUID, digest Digest) (Definition, error) {
	if cached, ok := s.definitions.Get(digest); ok {
		return cached, nil
	}
	var body []byte
	err := s.db.Pool.QueryRow(ctx, `SELECT body FROM definitions WHERE org_id = $1 AND digest = $2`,
		orgID, digest[:]).Scan(&body)
	if err != nil {
		return Definition{}, fmt.Errorf("read definition %x: %w", digest, err)
	}
	definition, err := decodeDefinition(body)
	if err == nil {
		s.definitions.Add(digest, definition)
	}
	return definition, err
}
