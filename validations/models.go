package validations

import (
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// RunState is how far a run is.
type RunState string

// The states of a run. Completed is final.
const (
	StatePending   RunState = "PENDING"
	StateRunning   RunState = "RUNNING"
	StateCompleted RunState = "COMPLETED"
)

// RunResult is the verdict of a completed run.
type RunResult string

// The results. FAIL means that the document has errors; ERROR means that the service could not check it.
const (
	ResultUnknown  RunResult = "UNKNOWN"
	ResultPass     RunResult = "PASS"
	ResultFail     RunResult = "FAIL"
	ResultError    RunResult = "ERROR"
	ResultCanceled RunResult = "CANCELED"
	ResultTimedOut RunResult = "TIMED_OUT"
)

// ErrorCategory says in one word why a run did not pass.
type ErrorCategory string

// The error categories; a run that passed has none.
const (
	CategoryNone             ErrorCategory = ""
	CategoryValidationFailed ErrorCategory = "VALIDATION_FAILED"
	CategoryTimeout          ErrorCategory = "TIMEOUT"
	CategoryRuntimeError     ErrorCategory = "RUNTIME_ERROR"
	CategorySystemError      ErrorCategory = "SYSTEM_ERROR"
)

// Source is the kind of program that has started a run. The server sets it.
type Source string

// The sources.
const (
	SourceAPI       Source = "API"
	SourceDashboard Source = "DASHBOARD"
	SourceCLI       Source = "CLI"
)

// CommandLineAgent begins the User-Agent of the command line.
const CommandLineAgent = "simplevalidations/"

// SourceOf returns the program that has sent a request to the API. The source is only shown; nothing depends on it.
func SourceOf(userAgent string) Source {
	if strings.HasPrefix(userAgent, CommandLineAgent) {
		return SourceCLI
	}
	return SourceAPI
}

// StepStatus is how far a step of a run is.
type StepStatus string

// The statuses of a step. Only the last three are stored.
const (
	StepPending StepStatus = "PENDING"
	StepRunning StepStatus = "RUNNING"
	StepPassed  StepStatus = "PASSED"
	StepFailed  StepStatus = "FAILED"
	StepSkipped StepStatus = "SKIPPED"
)

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
	Source           Source
	State            RunState
	Result           RunResult
	Error            string
	ErrorCategory    ErrorCategory
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
	case StatePending:
		return 0
	case StateRunning:
		return Progress(1 + r.RecoveryPoint) //nolint:gosec // a definition has 50 steps at most
	default:
		return ProgressCompleted
	}
}

// StepRun is the result of one step of a run, written once.
type StepRun struct {
	OrgID        uuid.UUID `gorm:"primaryKey"`
	ID           uuid.UUID `gorm:"primaryKey"`
	RunID        uuid.UUID
	Ordinal      int
	StepID       string
	Name         string
	Status       StepStatus
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
