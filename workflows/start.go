package workflows

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coalesce"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/validations"
)

// EndpointStart names the start endpoint in idempotency keys.
const EndpointStart idempotency.Endpoint = "workflow_start"

// StartRequest is an authorized request to start a run. Body is there when it has been read.
type StartRequest struct {
	Principal core.Principal
	Workflow  Version
	Body      StartBody
	// Version is ?version= as it was sent; VersionGiven tells absent from empty.
	Version      string
	VersionGiven bool
	// Key is the idempotency key; KeyGiven is false when the request has none. KeyLifetime counts from the
	// first use of a key and is not extended by replays.
	Key      string
	KeyGiven bool
	Source   validations.Source
	// Found is the key as it was when the request arrived, nil when it was not there.
	Found       *idempotency.Record
	KeyLifetime time.Duration
	Caller      idempotency.Caller
	// ReceivedAt is when the request arrived.
	ReceivedAt time.Time
	// Admit refuses a new run where something other than the database bounds them.
	Admit func(context.Context) error
}

// answered reports whether the key has an answer already, so that the request starts nothing.
func (r StartRequest) answered() bool {
	return r.Found != nil && r.Found.Point == idempotency.PointFinished
}

// StartAnswer is what a start is answered with.
type StartAnswer struct {
	idempotency.Answer
	RunID uuid.UUID
}

// isNew tells the answer of a new start from that of a replay, of a request that went on where another had stopped, and
// of a start that was declined.
func (a StartAnswer) isNew() bool {
	return !a.Replayed && a.OriginalRequestID == "" && a.Response.Status == http.StatusCreated
}

// StartConfig bounds starts.
type StartConfig struct {
	// CommitTimeout bounds the transaction, whatever the client does.
	CommitTimeout time.Duration
}

// Starter starts runs, each exactly once.
type Starter struct {
	db     *db.DB
	cfg    StartConfig
	runs   *validations.Service
	guard  *idempotency.Guard
	staged *jobs.Signal
	// overage is nil where no billing service is configured; then a used-up quota is a refusal.
	overage *Overage
	figures *metrics.Starts
	commits *coalesce.Batcher[start, result]
}

// NewStarter makes a Starter. A nil overage means that there is no billing service.
func NewStarter(
	db *db.DB, cfg StartConfig, runs *validations.Service, guard *idempotency.Guard, staged *jobs.Signal,
	overage *Overage, figures *metrics.Starts,
) *Starter {
	s := &Starter{db: db, cfg: cfg, runs: runs, guard: guard, staged: staged, overage: overage, figures: figures}
	s.commits = coalesce.New(coalesce.Limits{
		Batches: groupsAtOnce, MinBatch: groupEnough, OverlapAfter: groupPatience,
		Members: groupMembers, Weight: groupBytes,
		Waiting: groupsWaiting * groupMembers, WaitingWeight: groupsWaiting * groupBytes,
	}, start.size, s.commit)
	figures.Queue(s.commits.Waiting)
	return s
}

// Start starts a run, or answers as the key's first request was answered. How long a new start took is counted; the
// waiting for its run comes later and is no part of it.
func (s *Starter) Start(ctx context.Context, request StartRequest) (StartAnswer, error) {
	answer, err := s.startOnce(ctx, request)
	if err == nil && answer.isNew() {
		s.guard.Started(request.Principal.OrgID, time.Since(request.ReceivedAt))
	}
	return answer, err
}

// startOnce looks replays up before anything is checked that only concerns new runs, so they cost no quota and work on
// an inactive workflow.
func (s *Starter) startOnce(ctx context.Context, request StartRequest) (StartAnswer, error) {
	fingerprint := request.Fingerprint()
	known, err := s.known(ctx, request)
	if err != nil {
		return StartAnswer{}, err
	}
	if known != nil {
		return s.answerFrom(ctx, *known, fingerprint)
	}
	mediaType, refusal := checkNew(ctx, request)
	if refusal != nil {
		// Another request may have finished under the key since this one arrived, and then its answer counts.
		if known, err = s.look(ctx, request); err == nil && known != nil {
			return s.answerFrom(ctx, *known, fingerprint)
		}
		return StartAnswer{}, refusal
	}
	request.Body.MediaType = mediaType
	prepared, err := prepare(request, fingerprint)
	if err != nil {
		return StartAnswer{}, err
	}
	result := s.commitShared(ctx, prepared)
	if result.existing != nil || core.HasCode(result.err, core.CodeKeyInProgress) {
		s.guard.Count(request.Principal.OrgID, result.existing, result.err)
	}
	beyondQuota := core.HasCode(result.err, core.CodeQuotaExceeded)
	if beyondQuota && request.Principal.Overage && s.overage != nil {
		return s.startOverage(ctx, prepared)
	}
	return result.answer, result.err
}

// known returns the key when there is one. One that was not finished when the request arrived may be by now.
func (s *Starter) known(ctx context.Context, request StartRequest) (*idempotency.Record, error) {
	if request.Found == nil || request.answered() {
		return request.Found, nil
	}
	return s.look(ctx, request)
}

// look returns the key as it is now, nil when there is none.
func (s *Starter) look(ctx context.Context, request StartRequest) (*idempotency.Record, error) {
	var known *idempotency.Record
	if !request.KeyGiven {
		return known, nil
	}
	record, found, err := idempotency.Lookup(ctx, s.db, request.Principal.OrgID, EndpointStart, request.Key)
	if err != nil {
		return nil, core.Unavailable(err)
	}
	if found {
		known = &record
	}
	return known, nil
}

// checkNew makes the checks that only new runs have to pass, and returns the type as which the workflow takes the
// document.
func checkNew(ctx context.Context, request StartRequest) (string, error) {
	definition := request.Workflow.Definition
	mediaType, taken := mediatype.Choose(definition.Accepts, request.Body.types())
	switch {
	case !request.Workflow.IsActive:
		return "", workflowInactive()
	case len(definition.Steps) == 0:
		return "", core.NewError(core.CodeWorkflowHasNoSteps,
			"The workflow has no steps, so there is nothing to check.")
	case !taken:
		return "", refuseMediaType(request.Body, definition.Accepts)
	}
	return mediaType, request.Admit(ctx)
}

func workflowInactive() *core.Error {
	return core.NewError(core.CodeWorkflowInactive,
		"The workflow is inactive and starts no new runs. Activate it or use another one.")
}

// Fingerprint is what two requests have in common when they mean the same.
func (r StartRequest) Fingerprint() idempotency.Fingerprint {
	if !r.KeyGiven {
		return idempotency.Fingerprint{}
	}
	return idempotency.Request{
		Method:       r.Caller.Method,
		Endpoint:     string(EndpointStart),
		Target:       r.Workflow.ID.String(),
		Version:      r.Version,
		VersionGiven: r.VersionGiven,
		Options:      slices.Clone(r.Body.Options),
		MediaType:    r.Body.FingerprintMediaType,
		Content:      r.Body.ContentDigest,
	}.Fingerprint()
}

func replay(record idempotency.Record, fingerprint idempotency.Fingerprint) (StartAnswer, error) {
	if err := record.Decide(fingerprint); err != nil {
		return StartAnswer{}, err
	}
	return StartAnswer{Answer: idempotency.ReplayOf(record), RunID: record.RunID}, nil
}
