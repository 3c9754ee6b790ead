package client

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is a time that may be absent, such as the end of an unfinished run. The zero time is null in JSON.
type Time struct {
	time.Time
}

// UnmarshalJSON reads a time, or null.
func (t *Time) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		t.Time = time.Time{}
		return nil
	}
	if err := t.Time.UnmarshalJSON(text); err != nil {
		return fmt.Errorf("read a time: %w", err)
	}
	return nil
}

// MarshalJSON writes the time in UTC with milliseconds, or null for the zero time.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// Optional is an id, a key or an address that may be absent. It is null in JSON and "" here.
type Optional string

// MarshalJSON writes the value, or null where it is absent.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(o))
}

// State is how far a run is.
type State string

// The states. COMPLETED is final.
const (
	StatePending   State = "PENDING"
	StateRunning   State = "RUNNING"
	StateCompleted State = "COMPLETED"
)

// Result is the outcome of a run.
type Result string

// The results. FAIL is about the document; ERROR is about the service.
const (
	ResultUnknown  Result = "UNKNOWN"
	ResultPass     Result = "PASS"
	ResultFail     Result = "FAIL"
	ResultError    Result = "ERROR"
	ResultCanceled Result = "CANCELED"
	ResultTimedOut Result = "TIMED_OUT"
)

// StepStatus is how far a step is.
type StepStatus string

// The statuses of steps.
const (
	StepPending StepStatus = "PENDING"
	StepRunning StepStatus = "RUNNING"
	StepPassed  StepStatus = "PASSED"
	StepFailed  StepStatus = "FAILED"
	StepSkipped StepStatus = "SKIPPED"
)

// Severity is how grave a finding is.
type Severity string

// The severities. Only errors fail a run.
const (
	SeverityError   Severity = "ERROR"
	SeverityWarning Severity = "WARNING"
	SeverityInfo    Severity = "INFO"
)

// Run is one execution of one version of a workflow on one document.
type Run struct {
	ID                string   `json:"id"`
	Workflow          string   `json:"workflow"`
	WorkflowSlug      string   `json:"workflow_slug"`
	WorkflowVersion   int      `json:"workflow_version"`
	Submission        string   `json:"submission"`
	Org               string   `json:"org"`
	Source            string   `json:"source"`
	State             State    `json:"state"`
	Result            Result   `json:"result"`
	Status            string   `json:"status"`
	Error             string   `json:"error"`
	ErrorCategory     string   `json:"error_category"`
	UserFriendlyError string   `json:"user_friendly_error"`
	IdempotencyKey    Optional `json:"idempotency_key"`
	RerunOf           Optional `json:"rerun_of"`
	CreatedAt         Time     `json:"created_at"`
	StartedAt         Time     `json:"started_at"`
	EndedAt           Time     `json:"ended_at"`
	DurationMS        int64    `json:"duration_ms"`
	Attempts          int      `json:"attempts"`
	ContentPurgedAt   Time     `json:"content_purged_at"`
	FindingsPurgedAt  Time     `json:"findings_purged_at"`
	Counts            Counts   `json:"counts"`
	// Steps is empty in lists and events.
	Steps []Step `json:"steps"`
}

// Completed reports whether the run has ended.
func (r Run) Completed() bool { return r.State == StateCompleted }

// Counts is how much was found, with what is not listed one by one.
type Counts struct {
	Errors   int64 `json:"errors"`
	Warnings int64 `json:"warnings"`
	Infos    int64 `json:"infos"`
}

// Step is one step of a run.
type Step struct {
	StepID          string     `json:"step_id"`
	Name            string     `json:"name"`
	Status          StepStatus `json:"status"`
	Error           string     `json:"error"`
	Counts          Counts     `json:"counts"`
	Issues          []Issue    `json:"issues"`
	IssuesTruncated bool       `json:"issues_truncated"`
}

// Ended reports whether the step is over, whatever it found.
func (s Step) Ended() bool {
	return s.Status == StepPassed || s.Status == StepFailed || s.Status == StepSkipped
}

// Issue is one finding.
type Issue struct {
	ID          string   `json:"id"`
	Severity    Severity `json:"severity"`
	Code        string   `json:"code"`
	Message     string   `json:"message"`
	Path        string   `json:"path"`
	Line        int      `json:"line"`
	Column      int      `json:"column"`
	Row         int      `json:"row"`
	Excerpt     string   `json:"excerpt"`
	Count       int      `json:"count"`
	SampleRows  []int    `json:"sample_rows"`
	AssertionID Optional `json:"assertion_id"`
	Truncated   bool     `json:"truncated"`
}

// Finding is one finding of a run.
type Finding struct {
	StepID string `json:"step_id"`
	Issue
}

// Workflow is a workflow as of one of its versions.
type Workflow struct {
	ID          string         `json:"id"`
	Slug        string         `json:"slug"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Version     int            `json:"version"`
	OrgSlug     string         `json:"org_slug"`
	IsActive    bool           `json:"is_active"`
	Accepts     []string       `json:"accepts"`
	Steps       []WorkflowStep `json:"steps"`
	Constants   []string       `json:"constants"`
	CreatedAt   Time           `json:"created_at"`
	UpdatedAt   Time           `json:"updated_at"`
	// Warnings are in the answer to a request that saves a definition: members that probably do not do what their
	// author wants.
	Warnings []FieldError `json:"warnings,omitempty"`
}

// WorkflowStep is one check of a workflow.
type WorkflowStep struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	ValidatorType string `json:"validator_type"`
	Order         int    `json:"order"`
}

// WorkflowImport is the result of an import.
type WorkflowImport struct {
	// Outcome is created, version_added, renamed or unchanged.
	Outcome  string   `json:"outcome"`
	Workflow Workflow `json:"workflow"`
}

// Me is the user, the organization and the role of a token.
type Me struct {
	ID    string       `json:"id"`
	Email string       `json:"email"`
	Name  string       `json:"name"`
	Org   Organization `json:"org"`
	Role  string       `json:"role"`
	// Token is the id of the token that was used.
	Token string `json:"token"`
}

// Token is an API token, without its secret.
type Token struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Prefix string `json:"prefix"`
	// Role is the highest role that the token may have; that of its user limits it further.
	Role       string   `json:"role"`
	User       string   `json:"user"`
	Email      string   `json:"email"`
	State      string   `json:"state"`
	ReplacedBy Optional `json:"replaced_by"`
	CreatedAt  Time     `json:"created_at"`
	ExpiresAt  Time     `json:"expires_at"`
	RevokedAt  Time     `json:"revoked_at"`
	LastUsedAt Time     `json:"last_used_at"`
}

// TokenSecret is a new token with its secret, which is never shown again.
type TokenSecret struct {
	Token
	Secret string `json:"secret"`
}

// TokenDraft is a token to be made.
type TokenDraft struct {
	Label string `json:"label"`
	Role  string `json:"role"`
	// ValidForMS is its lifetime in milliseconds; 0 is for ever.
	ValidForMS int64 `json:"valid_for_ms"`
}

// TokenRotation says how a token is rotated.
type TokenRotation struct {
	// OverlapMS is how long the old token keeps working, in milliseconds.
	OverlapMS int64 `json:"overlap_ms"`
}

// Member is a user as a member of the organization.
type Member struct {
	ID        string `json:"id"`
	Email     string `json:"email"`
	Name      string `json:"name"`
	Role      string `json:"role"`
	CreatedAt Time   `json:"created_at"`
}

// Invitation asks a person to become a member of an organization.
type Invitation struct {
	ID    string       `json:"id"`
	Org   Organization `json:"org"`
	Email string       `json:"email"`
	// Name is what the organization calls the person, who chooses a name upon acceptance.
	Name string `json:"name"`
	Role string `json:"role"`
	// State is invited, expired or accepted.
	State     string `json:"state"`
	CreatedAt Time   `json:"created_at"`
	ExpiresAt Time   `json:"expires_at"`
}

// InvitationLink is an invitation with its new link, which is never shown again.
type InvitationLink struct {
	Invitation

	// Link is the path of the page on which the person accepts.
	Link string `json:"link"`
}

// MemberDraft is a person to be invited.
type MemberDraft struct {
	Email string `json:"email"`
	// Name is what the organization calls the person until the invitation is accepted.
	Name string `json:"name"`
	Role string `json:"role"`
}

// MemberChange is what of a member may change.
type MemberChange struct {
	Role string `json:"role"`
}

// AuditRecord is an action in the audit log.
type AuditRecord struct {
	ID        string `json:"id"`
	CreatedAt Time   `json:"created_at"`
	// Actor, ActorEmail and Token are empty where the operator or the service has done it.
	Actor      Optional `json:"actor"`
	ActorEmail string   `json:"actor_email"`
	Token      Optional `json:"token"`
	Action     string   `json:"action"`
	TargetType string   `json:"target_type"`
	TargetID   string   `json:"target_id"`
	RequestID  Optional `json:"request_id"`
	Detail     string   `json:"detail"`
}

// Organization is an organization.
type Organization struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// OrganizationSettings is an organization with its settings. A period is nil where the one of the service applies, and
// 0 where something is kept for ever.
type OrganizationSettings struct {
	ID                  string `json:"id"`
	Slug                string `json:"slug"`
	Name                string `json:"name"`
	CreatedAt           Time   `json:"created_at"`
	Suspended           bool   `json:"suspended"`
	KeyRequired         bool   `json:"key_required"`
	KeyLifetimeMS       *int64 `json:"key_lifetime_ms"`
	ContentRetentionMS  *int64 `json:"content_retention_ms"`
	FindingsRetentionMS *int64 `json:"findings_retention_ms"`
	// RunQuota is nil where there is no limit.
	RunQuota  *int64 `json:"run_quota"`
	Overage   bool   `json:"overage"`
	MaxTokens int    `json:"max_tokens"`
}

// OrganizationChange says what of the settings to change. What is nil stays as it is; a period that points to nil
// becomes the one of the service.
type OrganizationChange struct {
	Name                *string `json:"name,omitempty"`
	KeyRequired         *bool   `json:"key_required,omitempty"`
	KeyLifetimeMS       **int64 `json:"key_lifetime_ms,omitempty"`
	ContentRetentionMS  **int64 `json:"content_retention_ms,omitempty"`
	FindingsRetentionMS **int64 `json:"findings_retention_ms,omitempty"`
}

// Usage is what the organization has used in the current month.
type Usage struct {
	Metric string `json:"metric"`
	Used   int64  `json:"used"`
	// Quota and Remaining are nil where there is no limit.
	Quota     *int64 `json:"quota"`
	Remaining *int64 `json:"remaining"`
	// Overage counts runs beyond the quota, which are not in Used.
	Overage  int64  `json:"overage"`
	Period   string `json:"period"`
	ResetsAt Time   `json:"resets_at"`
	// CountedSince is not zero where Days and Workflows are about the newest runs only.
	CountedSince Time            `json:"counted_since"`
	Days         []DayUsage      `json:"days"`
	Workflows    []WorkflowUsage `json:"workflows"`
}

// DayUsage counts the runs of one day, which is written like 2026-03-01.
type DayUsage struct {
	Day  string `json:"day"`
	Runs int64  `json:"runs"`
}

// WorkflowUsage counts the runs of one workflow.
type WorkflowUsage struct {
	Workflow string `json:"workflow"`
	Slug     string `json:"slug"`
	Runs     int64  `json:"runs"`
}

// Readiness is the state of a process of the service and of what it depends on.
type Readiness struct {
	Status string `json:"status"`
	// Version is the release of the process.
	Version  string `json:"version"`
	Database string `json:"database"`
	Redis    string `json:"redis"`
}
