package start

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// The endpoints of this package in idempotency keys.
const (
	Endpoint      idempotency.Endpoint = "workflow_start"
	EndpointRerun idempotency.Endpoint = "run_rerun"
)

// Request is an authorized request to start a run. API.newRequest makes it.
type Request struct {
	Endpoint  idempotency.Endpoint
	Principal core.Principal
	Workflow  validations.WorkflowRef
	// Body is the document with its options, once it has been read. A rerun has none.
	Body body.Body
	// Earlier is the run whose document a rerun checks again; nil for a start.
	Earlier *validations.Run
	Version PinnedVersion
	Key     idempotency.Key
	// KeyLifetime counts from the first use of the key and is not extended by replays.
	KeyLifetime time.Duration
	// Stored is the key as it was when the request arrived; nil when there was none.
	Stored *idempotency.Record
	Source api.Source
	Caller idempotency.Caller
	// ReceivedAt is when the request arrived.
	ReceivedAt time.Time
	// Admit enforces the rate limit of new runs, repeated or not, and tells the client how many are left.
	Admit func() error
}

// PinnedVersion is ?version= as it was sent. Absent and empty are different requests.
type PinnedVersion struct {
	Text  string
	Given bool
}

// Answer is what a start is answered with.
type Answer struct {
	idempotency.Answer
	RunID uuid.UUID
	// Executed is closed when this process has executed the new run, and before receives true if the run is completed.
	// It is nil if the run is left to the workers.
	Executed <-chan bool
}

// isNew distinguishes the answer of a new run from a replay, a resumed request and a declined start.
func (a Answer) isNew() bool {
	return !a.Replayed && a.OriginalRequestID == "" && a.Response.Status == http.StatusCreated
}

// Fingerprint is what two requests have in common when they mean the same: the method, the workflow, the version asked
// for and the document, or the run that is checked again. It is zero without a key.
func (r Request) Fingerprint() idempotency.Fingerprint {
	if !r.Key.Given {
		return idempotency.Fingerprint{}
	}
	meaning := idempotency.Request{
		Method: r.Caller.Method, Endpoint: string(r.Endpoint), Target: r.Workflow.ID.String(),
		Version: r.Version.Text, VersionGiven: r.Version.Given,
		Options:   slices.Clone(r.Body.Options),
		MediaType: r.Body.FingerprintMediaType, Content: r.Body.ContentDigest,
	}
	if r.Earlier != nil {
		meaning = idempotency.Request{
			Method: r.Caller.Method, Endpoint: string(r.Endpoint), Target: r.Earlier.ID.String(),
			MediaType: "application/json",
		}
	}
	return meaning.Fingerprint()
}

// check makes the checks that only new runs have to pass, and returns the request with the type as which the workflow
// takes the document. The rate limit comes last, so that only what could start counts against it.
func (r Request) check(engineMemory int64) (Request, error) {
	definition := r.Workflow.Definition
	switch {
	case !r.Workflow.Active:
		return r, core.NewError(api.CodeWorkflowInactive,
			"The workflow is inactive and starts no new runs. Activate it or use another one.")
	case len(definition.Steps) == 0:
		return r, core.NewError(api.CodeWorkflowHasNoSteps,
			"The workflow has no steps, so there is nothing to check.")
	}
	if r.Earlier == nil {
		types := append([]string{r.Body.MediaType}, r.Body.OtherTypes...)
		mediaType, taken := mediatype.Choose(definition.Accepts, types)
		if !taken {
			return r, body.RefuseType(r.Body, definition.Accepts)
		}
		r.Body.MediaType = mediaType
		if definition.Weight(mediaType, r.Body.Content.Size) > engineMemory {
			return r, tooHeavy(r.Body.Content.Size)
		}
	}
	err := r.Admit()
	return r, err
}

// tooHeavy refuses a document for which the validators would need more memory than they may ever have.
func tooHeavy(size int64) error {
	return core.NewError(api.CodePayloadTooLarge, fmt.Sprintf(
		"The document of %d bytes needs more memory than this service gives to one validation. Send it in parts, or "+
			"ask the operator for a higher SV_ENGINE_MEMORY.", size))
}
