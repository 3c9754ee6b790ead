package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
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
	Billing *users.Billing
}

// Flow is the start beyond the quota, for the completer.
func (s *Starter) Flow() idempotency.Flow {
	return idempotency.Flow{
		Endpoint: EndpointStart,
		Phases: map[idempotency.Point]idempotency.Phase{
			pointReserved: s.charge,
			pointCharged:  s.launch,
		},
	}
}

// startOverage starts a run that the quota has no place for. The first transaction reserves it under the
// key and commits all that is needed to go on without the client; a request without a key gets one of
// ours, so that the completer can finish it.
func (s *Starter) startOverage(ctx context.Context, original start) (StartAnswer, error) {
	st, err := keyed(original)
	if err != nil {
		return StartAnswer{}, err
	}
	st.claim.Point, st.claim.Lock = pointReserved, s.overage.Engine.Lock()
	st.claim.Response = idempotency.Response{}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CommitTimeout)
	defer cancel()
	taken, err := db.InTx(ctx, s.db, func(tx db.Tx) (idempotency.Taken, error) {
		return s.reserve(ctx, tx, st)
	})
	switch {
	case err != nil:
		return StartAnswer{}, startError(err, original)
	case taken.Existing != nil:
		return s.answerFrom(ctx, *taken.Existing, st.claim.Fingerprint)
	case !taken.Claimed:
		refusal := idempotency.InProgress(0)
		s.guard.Count(st.orgID(), nil, refusal)
		return StartAnswer{}, refusal
	}
	finished, err := s.overage.Engine.Drive(ctx, s.Flow(), st.claim.Held(taken.ExpiresAt))
	if original.keyed {
		return s.finish(finished, err)
	}
	if err != nil {
		return StartAnswer{}, leftToUs(err, st)
	}
	// The key is ours, and its end says nothing to a client that has none.
	finished.ExpiresAt = time.Time{}
	return s.finish(finished, nil)
}

// leftToUs tells a client without a key that a repetition would be another start.
func leftToUs(err error, st start) error {
	left := core.NewError(core.CodeUnavailable, "The run is reserved and will be started when its charge is known. "+
		"Look for run_id instead of sending the request again; with an Idempotency-Key it could simply be repeated.")
	left.RunID, left.Retryable, left.RetryAfter = st.run.Run.ID.String(), false, time.Second
	return left.Because(err)
}

func (s *Starter) reserve(ctx context.Context, tx db.Tx, st start) (idempotency.Taken, error) {
	taken, err := idempotency.Take(ctx, tx, []idempotency.Claim{st.claim})
	if err != nil || !taken[0].Claimed {
		return first(taken), err
	}
	batch := tx.NewBatch()
	s.runs.Reserve(batch, st.run)
	st.audit.Action = "run.reserve"
	core.Audit(batch, st.audit)
	return taken[0], batch.Send(ctx)
}

// charge asks for the money and counts the run when it is granted; when it is declined the request is
// over, and its answer is remembered.
func (s *Starter) charge(ctx context.Context, record idempotency.Record) (idempotency.Transition, error) {
	if s.overage == nil {
		return nil, errNoBilling
	}
	accepted, err := s.overage.Billing.Charge(ctx, users.Charge{
		OrgID: record.OrgID, RunID: record.RunID, Metric: users.MetricOverage, Key: record.DerivedKey("charge"),
	})
	if err != nil {
		return nil, err
	}
	if !accepted {
		return s.decline(record)
	}
	return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
		period, err := users.CountOverage(ctx, tx, record.OrgID)
		if err != nil {
			return idempotency.Outcome{}, err
		}
		err = s.runs.Charge(ctx, tx, record.OrgID, record.RunID, users.MetricOverage, period)
		return idempotency.Reach(pointCharged), err
	}, nil
}

func (s *Starter) decline(record idempotency.Record) (idempotency.Transition, error) {
	problem := users.PaymentRequired()
	body, err := json.Marshal(problem.Problem(record.RequestID))
	if err != nil {
		return nil, fmt.Errorf("render a problem: %w", err)
	}
	response := idempotency.Response{
		Status:  problem.Code.Spec().Status,
		Headers: idempotency.ResponseHeaders{ContentType: core.ProblemType}, Body: body,
	}
	return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
		err := s.runs.Decline(ctx, tx, record.OrgID, record.RunID,
			"The charge for a run beyond the quota was declined.")
		return idempotency.Respond(response), err
	}, nil
}

// launch stages the run and stores the answer, the same as that of a start within the quota.
func (s *Starter) launch(ctx context.Context, record idempotency.Record) (idempotency.Transition, error) {
	body, err := s.runs.PendingAnswer(ctx, record.OrgID, record.RunID)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx db.Tx) (idempotency.Outcome, error) {
		err := s.runs.Launch(ctx, tx, record.OrgID, record.RunID)
		return idempotency.Respond(created(record.RunID, body)), err
	}, nil
}

// answerFrom answers from a key that is there: with its response, or by going on where its request was
// abandoned. A resumed answer is a first answer.
func (s *Starter) answerFrom(
	ctx context.Context, record idempotency.Record, fingerprint idempotency.Fingerprint,
) (StartAnswer, error) {
	answer, err := s.guard.Answer(record, fingerprint)
	if !core.HasCode(err, core.CodeKeyInProgress) || !record.Abandoned() {
		return StartAnswer{Answer: answer, RunID: record.RunID}, err
	}
	if s.overage == nil {
		return StartAnswer{}, idempotency.Resumable(errNoBilling)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CommitTimeout)
	defer cancel()
	finished, err := s.overage.Engine.Resume(ctx, s.Flow(), record)
	resumed, err := s.finish(finished, err)
	resumed.OriginalRequestID = record.RequestID
	return resumed, err
}

func (s *Starter) finish(finished idempotency.Record, err error) (StartAnswer, error) {
	if err != nil {
		return StartAnswer{}, err
	}
	s.staged.Wake()
	return StartAnswer{
		Answer: idempotency.Answer{Response: finished.Response, ExpiresAt: finished.ExpiresAt}, RunID: finished.RunID,
	}, nil
}

// errNoBilling means that a start beyond the quota was left over by a process that had a billing service.
var errNoBilling = errors.New("no billing service is configured")

// keyed gives a start without a key one of ours.
func keyed(st start) (start, error) {
	if st.keyed {
		return st, nil
	}
	id, err := core.NewID()
	if err != nil {
		return start{}, err
	}
	st.keyed = true
	st.claim.ID, st.claim.Key = id, "sv-"+id.String()
	st.run.Run.IdempotencyKey, st.run.Run.IdempotencyKeyID = st.claim.Key, &id
	return st, nil
}

func created(runID uuid.UUID, body []byte) idempotency.Response {
	return idempotency.Response{
		Status: http.StatusCreated,
		Headers: idempotency.ResponseHeaders{
			ContentType: "application/json", Location: validations.RunAddress(runID),
		},
		Body: body,
	}
}

func first(taken []idempotency.Taken) idempotency.Taken {
	if len(taken) == 0 {
		return idempotency.Taken{}
	}
	return taken[0]
}
