package validations

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/core/tracing"
)

// JobExecute is the kind of the jobs that execute runs.
const JobExecute jobs.Kind = "validations.execute"

// FirstEpoch is the epoch that a run is created with: that of its staged job, or of the lease that it is born with.
const FirstEpoch = 1

// Order is a request for a run: the workflow, the document and the caller.
type Order struct {
	Principal core.Principal
	Workflow  WorkflowRef
	Document  Document
	Source    api.Source
	// IdempotencyKey and the id of its row are zero if the request has no key.
	IdempotencyKey   string
	IdempotencyKeyID uuid.UUID
	RequestID        string
}

// WorkflowRef is the version of a workflow that a run executes.
type WorkflowRef struct {
	ID         uuid.UUID
	Slug       string
	Version    int
	Definition Definition
	Digest     Digest
	// Active is set if the workflow starts new runs.
	Active bool
}

// Document is a submitted document with what its sender says about it.
type Document struct {
	Content          Content
	MediaType        string
	Filename         string
	Name             string
	ShortDescription string
	Metadata         string
}

// Prepared is a run before its rows are inserted. Its ids are chosen and its answer is rendered.
type Prepared struct {
	Submission Submission
	Run        Run
	// Held keeps the run from being executed and charged until Charge and Launch.
	Held bool
	// Lease is how long the creating process may execute the run under FirstEpoch, counted from the insertion. 0 means
	// that the run is staged.
	Lease time.Duration
	// Answer is the new run as JSON.
	Answer []byte
	// Origin is the span of the start, for the process that executes the run; empty where nothing is traced.
	Origin tracing.Origin
}

// Prepare chooses the ids of a run and its submission and renders the answer. A rerun checks the submission of the
// earlier run again; earlier is nil for a run with a document of its own. It touches no database.
func Prepare(order Order, earlier *Run, now time.Time) (Prepared, error) {
	// PostgreSQL stores microseconds, and the answer must show the stored time.
	now = now.UTC().Truncate(time.Microsecond)
	var submission Submission
	var rerunOf *uuid.UUID
	var err error
	if earlier != nil {
		submission = Submission{OrgID: earlier.OrgID, ID: earlier.SubmissionID}
		rerunOf = &earlier.ID
	} else {
		document := order.Document
		submission = Submission{
			OrgID: order.Principal.OrgID, MediaType: document.MediaType, Filename: document.Filename,
			Name: document.Name, ShortDescription: document.ShortDescription, Metadata: document.Metadata,
			Size: document.Content.Size, SHA256: document.Content.SHA256[:], Content: document.Content.Bytes,
			CreatedAt: now,
		}
		if document.Content.UploadID != uuid.Nil {
			submission.UploadID = &document.Content.UploadID
		}
		submission.ID = core.NewID()
	}
	runID := core.NewID()
	prepared := Prepared{
		Submission: submission,
		Run: Run{
			OrgID: order.Principal.OrgID, ID: runID, RerunOf: rerunOf,
			WorkflowID: order.Workflow.ID, WorkflowSlug: order.Workflow.Slug, WorkflowVersion: order.Workflow.Version,
			DefinitionDigest: order.Workflow.Digest[:], SubmissionID: submission.ID, Source: order.Source,
			State: api.RunStatePending, Result: api.RunResultUnknown, Epoch: FirstEpoch,
			IdempotencyKey: order.IdempotencyKey, RequestID: order.RequestID, CreatedAt: now,
		},
	}
	if order.IdempotencyKeyID != uuid.Nil {
		prepared.Run.IdempotencyKeyID = &order.IdempotencyKeyID
	}
	if order.Principal.UserID != uuid.Nil {
		prepared.Run.CreatedBy = &order.Principal.UserID
	}
	body := RenderRun(prepared.Run, order.Principal.OrgSlug)
	body.Steps = renderSteps(prepared.Run, order.Workflow.Definition, nil, nil)
	prepared.Answer, err = json.Marshal(body)
	if err != nil {
		return Prepared{}, fmt.Errorf("render a run: %w", err)
	}
	return prepared, nil
}

// Create adds the rows of those prepared runs to a batch that are granted (db.Granted): runs, which adopt their
// uploads, and staged jobs. The documents of the others are deleted. A run that is held or born leased is not staged.
// Every run that is not held must have been charged in the same transaction.
func (s *Service) Create(batch *db.Batch, prepared []Prepared) {
	var fresh, uploaded []Prepared
	var staged []jobs.Job
	for _, p := range prepared {
		if p.Run.RerunOf == nil {
			fresh = append(fresh, p)
		}
		if p.Submission.UploadID != nil {
			uploaded = append(uploaded, p)
		}
		if !p.Held && p.Lease == 0 {
			staged = append(staged, jobs.Job{
				Kind: JobExecute, OrgID: p.Run.OrgID, SubjectID: p.Run.ID, Epoch: p.Run.Epoch,
			})
		}
	}
	if len(uploaded) > 0 {
		queueAdoptions(batch, uploaded)
	}
	s.queueRuns(batch, prepared)
	if len(staged) > 0 {
		jobs.StageGranted(batch, staged...)
	}
	if len(fresh) > 0 {
		dropDocuments(batch, fresh)
	}
}
