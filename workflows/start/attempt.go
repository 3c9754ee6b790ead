package start

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/users/quota"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
)

// attempt is a start that needs nothing but its commit: every id is chosen and the response is rendered. It carries
// its own outcome through claim, charge and insert.
type attempt struct {
	run validations.Prepared
	// keyed says that claim is meant; ownKey that the key is the service's, because the client sent none.
	keyed, ownKey bool
	claim         idempotency.Claim
	audit         core.AuditRecord
	response      idempotency.Response
	// overage says that the organization pays for starts beyond its quota.
	overage bool
	// slot is the right to execute the run in this process; nil if the run is to be staged.
	slot *execution.Slot

	outcome
}

// outcome is what the transaction has decided about an attempt. It is valid once the batch was committed.
type outcome struct {
	// tried says that a commit has come back without an error, and granted that it has started the run.
	tried, granted bool
	// claimed says whose the key is. An attempt without a key counts as claimed.
	claimed idempotency.ClaimResult
	// err is why nothing was started.
	err error
}

// prepare chooses the ids of a start and renders its response. It touches no database.
func prepare(r Request) (*attempt, error) {
	a := &attempt{keyed: r.Key.Given, overage: r.Principal.Overage}
	order := validations.Order{
		Principal: r.Principal, Workflow: r.Workflow, Source: r.Source, RequestID: r.Caller.RequestID,
		Document: validations.Document{
			Content: r.Body.Content, MediaType: r.Body.MediaType, Filename: r.Body.Filename,
			Name: r.Body.Name, ShortDescription: r.Body.ShortDescription, Metadata: r.Body.Metadata,
		},
	}
	var err error
	if a.keyed {
		order.IdempotencyKey, order.IdempotencyKeyID = r.Key.Value, core.NewID()
	}
	if a.run, err = validations.Prepare(order, r.Earlier, time.Now()); err != nil {
		return nil, err
	}
	a.response = created(a.run.Run.ID, a.run.Answer)
	a.claim = idempotency.Claim{
		ID:          order.IdempotencyKeyID,
		Identity:    idempotency.Identity{OrgID: a.run.Run.OrgID, Endpoint: r.Endpoint, Key: r.Key.Value},
		Fingerprint: r.Fingerprint(), Caller: r.Caller, Lifetime: r.KeyLifetime, Subject: a.run.Run.ID,
		Point: idempotency.PointFinished, Response: a.response,
	}
	a.audit = core.AuditRecord{
		OrgID: a.run.Run.OrgID, ActorID: r.Principal.UserID, TokenID: r.Principal.TokenID, Action: "run.start",
		TargetType: "run", TargetID: a.run.Run.ID.String(), RequestID: r.Caller.RequestID,
	}
	if a.isRerun() {
		a.audit.Action = "run.rerun"
	}
	return a, nil
}

// created is the response to a new run.
func created(runID uuid.UUID, body []byte) idempotency.Response {
	return idempotency.Response{
		Status: http.StatusCreated,
		Headers: idempotency.ResponseHeaders{
			ContentType: "application/json", Location: validations.RunAddress(runID.String()),
		},
		Body: body,
	}
}

// isRerun reports whether the document of an earlier run is checked again.
func (a *attempt) isRerun() bool { return a.run.Run.RerunOf != nil }

// mayExceedQuota reports whether the attempt may be charged by itself when the quota is used up.
func (a *attempt) mayExceedQuota() bool { return a.overage && !a.isRerun() }

// size is what the attempt weighs in a batch.
func (a *attempt) size() int { return len(a.run.Submission.Content) }

// isStaged reports whether the attempt has staged its run.
func (a *attempt) isStaged() bool { return a.goesOn() && a.slot == nil }

// goesOn reports whether the attempt's run was started, or reserved.
func (a *attempt) goesOn() bool { return a.err == nil && a.granted }

// refuse ends the attempt with an error.
func (a *attempt) refuse(err error) { a.err = err }

// refuseQuota ends an attempt that the quota has no room for.
func (a *attempt) refuseQuota(usage quota.Usage) {
	refusal := quota.Exceeded(usage)
	if a.overage && a.isRerun() {
		refusal.Detail += " A rerun is never charged beyond the quota; start the document again for that."
	}
	a.refuse(refusal)
}

// record is the key that the attempt has claimed, for duplicates of it in the same batch.
func (a *attempt) record() *idempotency.Record {
	record := a.claim.Record(a.claimed.ExpiresAt)
	record.Response = a.claim.Response
	return &record
}
