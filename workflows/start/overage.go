package start

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

// The recovery points of a start beyond the quota.
const (
	// pointReserved: submission and run are there, the run is held back.
	pointReserved idempotency.Point = "run_reserved"
	// pointCharged: the billing service has accepted the charge and the run is counted.
	pointCharged idempotency.Point = "charged"
)

// Overage is what it takes to start runs beyond a quota.
type Overage struct {
	Engine  *idempotency.Engine
	Billing *quota.Billing
}

// errNoBilling means that a start beyond the quota was left over by a process that had a billing service.
var errNoBilling = errors.New("no billing service is configured")

// Flow is the start beyond the quota in phases, for the completer.
func (s *Starter) Flow() idempotency.Flow {
	return idempotency.Flow{
		Endpoint: Endpoint,
		Phases: map[idempotency.Point]idempotency.Phase{
			pointReserved: s.chargeOverage,
			pointCharged:  s.launch,
		},
	}
}

// startBeyondQuota starts a run that the quota has no room for. The first transaction reserves it under the key and
// commits all that is needed to go on without the client; the phases behind it charge and launch it.
func (s *Starter) startBeyondQuota(ctx context.Context, refused *attempt) (Answer, error) {
	// Its memory must not wait for the billing service.
	refused.slot.Release()
	a := s.reserved(refused)
	s.commitShared(ctx, a)
	if !a.goesOn() {
		return s.answer(ctx, a)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CommitTimeout)
	defer cancel()
	finished, err := s.overage.Engine.Drive(ctx, s.Flow(), *a.record())
	if !a.ownKey {
		return s.finish(finished, err)
	}
	if err != nil {
		return Answer{}, leftToCompleter(err, a)
	}
	// The end of the service's own key says nothing to a client that has none.
	finished.ExpiresAt = time.Time{}
	return s.finish(finished, nil)
}

// reserved is the attempt as its first phase commits it: the run is held back and the key stays unfinished. A request
// without a key gets one of the service's own, so that the completer can finish it.
func (s *Starter) reserved(refused *attempt) *attempt {
	a := *refused
	a.outcome = outcome{}
	if !a.keyed {
		id := core.NewID()
		a.keyed, a.ownKey = true, true
		a.claim.ID, a.claim.Key = id, "sv-"+id.String()
		a.run.Run.IdempotencyKey, a.run.Run.IdempotencyKeyID = a.claim.Key, &id
	}
	// It must not be executed before it is charged.
	a.run.Held, a.slot = true, nil
	a.claim.Point, a.claim.Lock = pointReserved, s.overage.Engine.Lock()
	a.claim.Response = idempotency.Response{}
	a.audit.Action = "run.reserve"
	return &a
}

// leftToCompleter tells a client without a key that a repetition would be another start.
func leftToCompleter(err error, a *attempt) error {
	left := core.NewError(api.CodeUnavailable, "The run is reserved and will be started when its charge is known. "+
		"Look for run_id instead of sending the request again; with an Idempotency-Key it could be retried.")
	left.RunID, left.Retryable, left.RetryAfter = a.run.Run.ID.String(), false, time.Second
	return left.Because(err)
}

// resume takes over a start that was abandoned between its phases and finishes it.
func (s *Starter) resume(ctx context.Context, record idempotency.Record) (Answer, error) {
	if s.overage == nil {
		return Answer{}, idempotency.Resumable(errNoBilling)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CommitTimeout)
	defer cancel()
	finished, err := s.overage.Engine.Resume(ctx, s.Flow(), record)
	answer, err := s.finish(finished, err)
	answer.OriginalRequestID = record.RequestID
	return answer, err
}

// chargeOverage asks for the money and counts the run when it is granted. When it is declined the request is over, and
// its answer is remembered.
func (s *Starter) chargeOverage(ctx context.Context, record idempotency.Record) (idempotency.Transition, error) {
	if s.overage == nil {
		return nil, errNoBilling
	}
	accepted, err := s.overage.Billing.Charge(ctx, quota.Charge{
		OrgID: record.OrgID, RunID: record.Subject, Metric: quota.MetricOverage, Key: record.DerivedKey("charge"),
	})
	if err != nil {
		return nil, err
	}
	if !accepted {
		return s.decline(record)
	}
	return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
		period, err := quota.CountOverage(ctx, tx, record.OrgID)
		if err != nil {
			return idempotency.Outcome{}, err
		}
		err = s.runs.RecordCharge(ctx, tx, record.OrgID, record.Subject, quota.MetricOverage, period)
		return idempotency.Reach(pointCharged), err
	}, nil
}

func (s *Starter) decline(record idempotency.Record) (idempotency.Transition, error) {
	problem := quota.PaymentRequired()
	body, err := json.Marshal(problem.Problem(record.RequestID))
	if err != nil {
		return nil, fmt.Errorf("render a problem: %w", err)
	}
	response := idempotency.Response{
		Status:  core.Spec(problem.Code).Status,
		Headers: idempotency.ResponseHeaders{ContentType: core.ProblemType}, Body: body,
	}
	return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
		err := s.runs.Decline(ctx, tx, record.OrgID, record.Subject,
			"The charge for a run beyond the quota was declined.")
		return idempotency.Respond(response), err
	}, nil
}

// launch stages the run and stores the answer, the same as that of a start within the quota.
func (s *Starter) launch(ctx context.Context, record idempotency.Record) (idempotency.Transition, error) {
	body, err := s.runs.PendingAnswer(ctx, record.OrgID, record.Subject)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
		err := s.runs.Launch(ctx, tx, record.OrgID, record.Subject)
		return idempotency.Respond(created(record.Subject, body)), err
	}, nil
}

func (s *Starter) finish(finished idempotency.Record, err error) (Answer, error) {
	if err != nil {
		return Answer{}, err
	}
	s.staged.Wake()
	return Answer{
		Answer: idempotency.Answer{Response: finished.Response, ExpiresAt: finished.ExpiresAt}, RunID: finished.Subject,
	}, nil
}
