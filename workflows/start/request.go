package start

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
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
	// Admit enforces the rate limit of new runs.
	Admit func(context.Context) error
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

func (r Request) endpoint() idempotency.Endpoint {
	if r.Earlier != nil {
		return EndpointRerun
	}
	return Endpoint
}

// isAnswered reports whether the key already has a response, so that the request starts nothing.
func (r Request) isAnswered() bool {
	return r.Stored != nil && r.Stored.Finished()
}

// fingerprint is what two requests have in common when they mean the same; zero without a key.
func (r Request) fingerprint() idempotency.Fingerprint {
	if !r.Key.Given {
		return idempotency.Fingerprint{}
	}
	if r.Earlier != nil {
		return idempotency.Request{
			Method: r.Caller.Method, Endpoint: string(EndpointRerun), Target: r.Earlier.ID.String(),
			MediaType: "application/json",
		}.Fingerprint()
	}
	return Fingerprint(r.Caller.Method, r.Workflow.ID, r.Version, r.Body)
}

// Fingerprint identifies a start by its meaning: the method, the workflow, the version asked for and the document.
func Fingerprint(
	method string, workflowID uuid.UUID, version PinnedVersion, document body.Body,
) idempotency.Fingerprint {
	return idempotency.Request{
		Method: method, Endpoint: string(Endpoint), Target: workflowID.String(),
		Version: version.Text, VersionGiven: version.Given,
		Options:   slices.Clone(document.Options),
		MediaType: document.FingerprintMediaType, Content: document.ContentDigest,
	}.Fingerprint()
}
