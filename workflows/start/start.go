package start

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coalesce"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/core/tracing"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
)

// Config bounds starts.
type Config struct {
	// CommitTimeout bounds the transaction, and all phases of a start beyond the quota, whatever the client does.
	CommitTimeout time.Duration
	// EngineMemory is the budget of the engines, in bytes. A document that could never fit into it is refused.
	EngineMemory int64
	// Tracer is nil where nothing is traced.
	Tracer *tracing.Tracer
}

// Starter starts runs, each exactly once.
type Starter struct {
	database *db.DB
	cfg      Config
	runs     *validations.Service
	guard    *idempotency.Guard
	local    *execution.Local
	staged   *jobs.Signal
	// overage is nil where no billing service is configured; then a used-up quota is a refusal.
	overage *Overage
	metrics *metrics.Starts
	batches *coalesce.Batcher[*attempt, struct{}]
	spent   *spent
}

// New makes a Starter. A nil overage means that there is no billing service.
func New(
	database *db.DB, cfg Config, runs *validations.Service, guard *idempotency.Guard, local *execution.Local,
	staged *jobs.Signal, overage *Overage, measured *metrics.Starts,
) *Starter {
	s := &Starter{
		database: database, cfg: cfg, runs: runs, guard: guard, local: local, staged: staged, overage: overage,
		metrics: measured, spent: newSpent(),
	}
	s.batches = coalesce.New(batchLimits(), (*attempt).size, s.commitBatch)
	measured.Queue(s.batches.Waiting)
	return s
}

// Start starts a run, or answers as the key's first request was answered. Replays come before everything that only
// concerns new runs, so they cost no quota and work on an inactive workflow.
func (s *Starter) Start(ctx context.Context, r Request) (Answer, error) {
	stored := r.Stored
	if stored != nil && !stored.Finished() {
		// It may have finished while the body was read.
		var err error
		if stored, err = s.Lookup(ctx, r.Principal.OrgID, r.Endpoint, r.Key); err != nil {
			return Answer{}, err
		}
	}
	if stored != nil {
		return s.answerFrom(ctx, *stored, r.Fingerprint())
	}
	admitted, refusal := r.check(s.cfg.EngineMemory)
	if refusal != nil {
		return s.unlessAnswered(ctx, r, refusal)
	}
	a, err := prepare(admitted)
	if err != nil {
		return Answer{}, err
	}
	a.slot = s.local.Acquire(a.run, r.Workflow.Definition)
	// A commit that is not known to have happened executes nothing: if it has, the lease ends and the sweeper goes on.
	defer a.slot.Release()
	committing, span := s.cfg.Tracer.Start(ctx, "start")
	a.run.Origin = s.cfg.Tracer.Origin(committing)
	s.commitShared(committing, a)
	span.End()
	answer, err := s.answer(ctx, a)
	// The figures tell how long documents take to be accepted, and a rerun brings none.
	if err == nil && r.Earlier == nil && answer.isNew() {
		s.guard.Accepted(r.Principal.OrgID, time.Since(r.ReceivedAt))
	}
	return answer, err
}

// Lookup returns the key as it is now, nil when there is none.
func (s *Starter) Lookup(
	ctx context.Context, orgID uuid.UUID, endpoint idempotency.Endpoint, key idempotency.Key,
) (*idempotency.Record, error) {
	var none *idempotency.Record
	if !key.Given {
		return none, nil
	}
	record, found, err := idempotency.Lookup(ctx, s.database, orgID, endpoint, key.Value)
	if err != nil {
		return none, core.Unavailable(err)
	}
	if !found {
		return none, nil
	}
	return &record, nil
}

// unlessAnswered refuses a new run, unless another request has finished under the key meanwhile and its answer counts.
func (s *Starter) unlessAnswered(ctx context.Context, r Request, refusal error) (Answer, error) {
	record, err := s.Lookup(ctx, r.Principal.OrgID, r.Endpoint, r.Key)
	if err != nil || record == nil {
		return Answer{}, refusal
	}
	return s.answerFrom(ctx, *record, r.Fingerprint())
}

// answer answers an attempt that was committed or refused.
func (s *Starter) answer(ctx context.Context, a *attempt) (Answer, error) {
	switch {
	case errors.Is(a.err, api.CodeQuotaExceeded) && a.mayExceedQuota() && s.overage != nil:
		return s.startBeyondQuota(ctx, a)
	case a.err != nil:
		return Answer{}, a.err
	case !a.granted:
		return s.answerFromRival(ctx, a)
	}
	return Answer{
		Answer: idempotency.Answer{Response: a.response, ExpiresAt: a.claimed.ExpiresAt}, RunID: a.run.Run.ID,
		Executed: a.slot.Execute(ctx, a.run),
	}, nil
}

// answerFrom answers from a key that is there: with its response, with the refusal that its state asks for, or by
// resuming its request where it was abandoned. A resumed answer is a first answer.
func (s *Starter) answerFrom(
	ctx context.Context, record idempotency.Record, fingerprint idempotency.Fingerprint,
) (Answer, error) {
	answer, err := s.guard.Answer(record, fingerprint)
	if errors.Is(err, api.CodeKeyInProgress) && record.Abandoned() {
		return s.resume(ctx, record)
	}
	return Answer{Answer: answer, RunID: record.Subject}, err
}

// answerFromRival answers an attempt whose key another request has, finished or not.
func (s *Starter) answerFromRival(ctx context.Context, a *attempt) (Answer, error) {
	if record := a.claimed.Existing; record != nil {
		return s.answerFrom(ctx, *record, a.claim.Fingerprint)
	}
	return Answer{}, s.guard.InFlight(a.run.Run.OrgID)
}
