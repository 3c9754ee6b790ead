package validations

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// JobExecute is the kind of the jobs that execute runs.
const JobExecute jobs.Kind = "validations.execute"

// FirstEpoch is the epoch that a run is created and first staged with.
const FirstEpoch = 1

// Order says what is to be run, for whom.
type Order struct {
	Principal core.Principal
	Workflow  WorkflowRef
	Document  Document
	Source    Source
	// IdempotencyKey and its row's id are zero when the request has no key.
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
	// Active says whether the workflow starts new runs.
	Active bool
}

// Document is what was handed in.
type Document struct {
	Content          Content
	MediaType        string
	Filename         string
	Name             string
	ShortDescription string
	Metadata         string
}

// Prepared is a run that needs nothing but its rows: its ids are chosen and its answer is rendered.
type Prepared struct {
	Submission Submission
	Run        Run
	// Held keeps the run from being executed and counted until Charge and Launch.
	Held bool
	// Answer is the run as JSON, as it is when it has just been created.
	Answer []byte
}

// isRerun reports whether the run's submission is there already.
func (p *Prepared) isRerun() bool { return p.Run.RerunOf != nil }

// Prepare chooses the ids of a run and its submission and renders the answer. It touches no database.
func Prepare(order Order, now time.Time) (Prepared, error) {
	submissionID, err := core.NewID()
	if err != nil {
		return Prepared{}, err
	}
	// The database keeps microseconds; what is shown must be what is stored.
	now = now.UTC().Truncate(time.Microsecond)
	content := order.Document.Content
	submission := Submission{
		OrgID: order.Principal.OrgID, ID: submissionID,
		MediaType: order.Document.MediaType, Filename: order.Document.Filename, Name: order.Document.Name,
		ShortDescription: order.Document.ShortDescription, Metadata: order.Document.Metadata,
		Size: content.Size, SHA256: content.SHA256[:], Content: content.Bytes, CreatedAt: now,
	}
	if content.UploadID != uuid.Nil {
		submission.UploadID = &content.UploadID
	}
	return prepareRun(order, submission, nil, now)
}

// PrepareRerun is Prepare for the submission of an earlier run, which is checked again.
func PrepareRerun(order Order, earlier Run, now time.Time) (Prepared, error) {
	submission := Submission{OrgID: earlier.OrgID, ID: earlier.SubmissionID}
	return prepareRun(order, submission, &earlier.ID, now.UTC().Truncate(time.Microsecond))
}

func prepareRun(order Order, submission Submission, rerunOf *uuid.UUID, now time.Time) (Prepared, error) {
	runID, err := core.NewID()
	if err != nil {
		return Prepared{}, err
	}
	prepared := Prepared{
		Submission: submission,
		Run: Run{
			OrgID: order.Principal.OrgID, ID: runID, RerunOf: rerunOf,
			WorkflowID: order.Workflow.ID, WorkflowSlug: order.Workflow.Slug, WorkflowVersion: order.Workflow.Version,
			DefinitionDigest: order.Workflow.Digest[:], SubmissionID: submission.ID, Source: order.Source,
			State: StatePending, Result: ResultUnknown, Epoch: FirstEpoch,
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

// Create adds the rows of prepared runs to a batch: their submissions, which adopt their uploads, the runs, and their
// staged jobs. A rerun has its submission already, and a run that is held back is not staged. The usage metric and
// period of every other run must have been charged in the same transaction.
func (s *Service) Create(batch *db.Batch, prepared ...Prepared) {
	var fresh []Prepared
	var staged []jobs.Job
	for _, p := range prepared {
		if !p.isRerun() {
			fresh = append(fresh, p)
		}
		if !p.Held {
			staged = append(staged, jobs.Job{
				Kind: JobExecute, OrgID: p.Run.OrgID, SubjectID: p.Run.ID, Epoch: p.Run.Epoch,
			})
		}
	}
	if len(fresh) > 0 {
		queueSubmissions(batch, fresh)
	}
	s.queueRuns(batch, prepared)
	if len(staged) > 0 {
		jobs.Stage(batch, staged...)
	}
}
