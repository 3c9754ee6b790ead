package validations

import (
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// CommandLineAgent begins the User-Agent of the command line.
const CommandLineAgent = "simplevalidations/"

// SourceOf returns the program that has sent a request to the API. The source is only shown; nothing depends on it.
func SourceOf(userAgent string) api.Source {
	if strings.HasPrefix(userAgent, CommandLineAgent) {
		return api.SourceCLI
	}
	return api.SourceAPI
}

// Submission is a submitted document.
type Submission struct {
	OrgID            uuid.UUID `gorm:"primaryKey"`
	ID               uuid.UUID `gorm:"primaryKey"`
	MediaType        string
	Filename         string
	Name             string
	ShortDescription string
	Metadata         string
	Size             int64
	SHA256           []byte `gorm:"column:sha256"`
	// Content is a document up to MaxInlineBytes, and UploadID names the upload of a larger one. Both are nil once the
	// document was purged.
	Content   []byte
	UploadID  *uuid.UUID
	CreatedAt time.Time
}

// Run is one execution of one version of a workflow on one submission.
type Run struct {
	OrgID            uuid.UUID `gorm:"primaryKey"`
	ID               uuid.UUID `gorm:"primaryKey"`
	WorkflowID       uuid.UUID
	WorkflowVersion  int
	WorkflowSlug     string
	DefinitionDigest []byte
	SubmissionID     uuid.UUID
	Source           api.Source
	State            api.RunState
	Result           api.RunResult
	Error            string
	ErrorCategory    api.ErrorCategory
	ErrorCount       int64
	WarningCount     int64
	InfoCount        int64
	RecoveryPoint    int
	Epoch            int
	Attempts         int
	UsageMetric      string
	UsagePeriod      time.Time
	IdempotencyKey   string
	IdempotencyKeyID *uuid.UUID
	RequestID        string
	// RerunOf is the run whose submission is checked again.
	RerunOf   *uuid.UUID
	CreatedBy *uuid.UUID
	CreatedAt time.Time
	StartedAt *time.Time
	EndedAt   *time.Time
	// ContentPurgedAt and FindingsPurgedAt are when the purge has removed the document and the findings.
	ContentPurgedAt  *time.Time
	FindingsPurgedAt *time.Time
}

// TableName names the table.
func (Run) TableName() string {
	return "validation_runs"
}

// Progress is the progress of a run as a number: 0 while it is pending, then 1 and the completed steps, then
// ProgressCompleted.
type Progress int32

// ProgressCompleted is the progress of a completed run.
const ProgressCompleted Progress = math.MaxInt32

// Progress returns how far the run is.
func (r Run) Progress() Progress {
	switch r.State {
	case api.RunStatePending:
		return 0
	case api.RunStateRunning:
		return Progress(1 + r.RecoveryPoint) //nolint:gosec // a definition has 50 steps at most
	default:
		return ProgressCompleted
	}
}

// StepRun is the result of one step of a run, written once.
type StepRun struct {
	OrgID   uuid.UUID `gorm:"primaryKey"`
	ID      uuid.UUID `gorm:"primaryKey"`
	RunID   uuid.UUID
	Ordinal int
	StepID  string
	Name    string
	// Status is one of the three at which a step has ended.
	Status       api.StepStatus
	Error        string
	ErrorCount   int64
	WarningCount int64
	InfoCount    int64
	Truncated    bool
	StartedAt    time.Time
	EndedAt      time.Time
}

// Finding is a finding of a step in the document.
type Finding struct {
	OrgID       uuid.UUID `gorm:"primaryKey"`
	ID          uuid.UUID `gorm:"primaryKey"`
	RunID       uuid.UUID
	StepOrdinal int
	Ordinal     int
	engines.Finding
}
