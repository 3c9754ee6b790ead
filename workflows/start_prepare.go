package workflows

import (
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/validations"
)

// start is a start that needs nothing but its commit: every id is chosen and the answer is rendered.
type start struct {
	run validations.Prepared
	// claim is meant only when keyed.
	claim    idempotency.Claim
	keyed    bool
	audit    core.AuditRecord
	response idempotency.Response
}

func (s start) orgID() uuid.UUID {
	return s.run.Run.OrgID
}

// size is what the start weighs in a group.
func (s start) size() int {
	return len(s.run.Submission.Content)
}

func prepare(request StartRequest, fingerprint idempotency.Fingerprint) (start, error) {
	var keyID uuid.UUID
	if request.KeyGiven {
		id, err := core.NewID()
		if err != nil {
			return start{}, err
		}
		keyID = id
	}
	auditID, err := core.NewID()
	if err != nil {
		return start{}, err
	}
	run, err := validations.Prepare(order(request, keyID), time.Now())
	if err != nil {
		return start{}, err
	}
	response := created(run.Run.ID, run.Answer)
	return start{
		run:      run,
		keyed:    request.KeyGiven,
		response: response,
		claim: idempotency.Claim{
			ID: keyID, OrgID: request.Principal.OrgID, Endpoint: EndpointStart, Key: request.Key,
			Fingerprint: fingerprint, Caller: request.Caller, Lifetime: request.KeyLifetime,
			RunID: run.Run.ID, Response: response,
		},
		audit: core.AuditRecord{
			ID: auditID, OrgID: request.Principal.OrgID, ActorID: request.Principal.UserID,
			TokenID: request.Principal.TokenID, Action: "run.start", TargetType: "run", TargetID: run.Run.ID.String(),
			RequestID: request.Caller.RequestID,
		},
	}, nil
}

func order(request StartRequest, keyID uuid.UUID) validations.Order {
	return validations.Order{
		Principal: request.Principal,
		Workflow:  request.Workflow.ref(),
		Document: validations.Document{
			Content: request.Body.Content, MediaType: request.Body.MediaType, Filename: request.Body.Filename,
			Name: request.Body.Name, ShortDescription: request.Body.ShortDescription, Metadata: request.Body.Metadata,
		},
		Source:           request.Source,
		IdempotencyKey:   request.Key,
		IdempotencyKeyID: keyID,
		RequestID:        request.Caller.RequestID,
	}
}
