package health

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations/insights"
)

// incidentKind is the kind of a thing that needs an operator.
type incidentKind string

const (
	kindKey  incidentKind = "key"
	kindRun  incidentKind = "run"
	kindJob  incidentKind = "job"
	kindTask incidentKind = "task"
)

// operation is an action of an operator on an incident.
type operation string

const (
	operationRetry   operation = "retry"
	operationDiscard operation = "discard"
)

// incident is something that needs an operator, because the service does not retry it by itself.
type incident struct {
	target

	orgID uuid.UUID
	// Org is the slug of the organization; "" for the service's own work.
	Org   string
	Kind  string
	Title string
	Pill  pages.Pill
	Error string
	Tries int64
	Since time.Time
}

// Target names the incident in a form.
func (t incident) Target() string { return t.String() }

// allows reports whether the operation is possible: keys and runs are retried, and never discarded.
func (t incident) allows(action operation) bool {
	return action == operationRetry || t.kind == kindJob || t.kind == kindTask
}

// has reports whether the incident contains the text, in any case.
func (t incident) has(text string) bool {
	return strings.Contains(strings.ToLower(strings.Join([]string{t.Org, t.id, t.Title, t.Error, t.Kind}, "\n")),
		strings.ToLower(text))
}

func incidentOfKey(key admin.StuckKey, endpoints idempotency.Operations) incident {
	pill := pages.NewPill("warn", "Abandoned")
	if key.Dead {
		pill = pages.NewPill("fail", "Dead")
	}
	return incident{
		target: target{kindKey, key.OrgID.String(), key.ID.String()}, orgID: key.OrgID,
		Kind: "key: " + endpoints.Title(key.Endpoint), Title: key.Key, Pill: pill,
		Error: key.LastError, Tries: key.Attempts, Since: key.CreatedAt,
	}
}

func incidentOfRun(run insights.LateRun) incident {
	return incident{
		target: target{kindRun, run.OrgID.String(), run.ID.String()}, orgID: run.OrgID,
		Kind: "run", Title: run.Workflow + " " + run.ID.String(),
		Pill: pages.NewPill("warn", "Late"), Tries: run.Attempts, Since: run.CreatedAt,
	}
}

func incidentOfJob(job tasks.DeadLetter) incident {
	return incident{
		target: target{kindJob, job.OrgID.String(), strconv.FormatInt(job.ID, 10)}, orgID: job.OrgID,
		Kind: "job in the outbox", Title: string(job.Kind) + " " + job.SubjectID.String(),
		Pill: pages.NewPill("fail", "Dead letter"), Error: job.LastError, Tries: job.Attempts, Since: job.CreatedAt,
	}
}

func incidentOfTask(task tasks.ArchivedTask) incident {
	orgID, _ := tasks.OrganizationOf(task.ID)
	return incident{
		target: target{kindTask, task.Queue, task.ID}, orgID: orgID,
		Kind: "task of queue " + task.Queue, Title: task.Kind + " " + task.ID,
		Pill: pages.NewPill("fail", "Failed"), Error: task.Error, Tries: task.Tries, Since: task.FailedAt,
	}
}

// narrowed returns the incidents that contain the text.
func narrowed(incidents []incident, text string) []incident {
	var kept []incident
	for _, t := range incidents {
		if t.has(text) {
			kept = append(kept, t)
		}
	}
	return kept
}
