package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations"
)

// troubleKind is what does not get on.
type troubleKind string

const (
	kindKey  troubleKind = "key"
	kindRun  troubleKind = "run"
	kindJob  troubleKind = "job"
	kindTask troubleKind = "task"
)

// operation is what an operator does about it.
type operation string

const (
	operationRetry   operation = "retry"
	operationDiscard operation = "discard"
)

// trouble is something that does not get on by itself.
type trouble struct {
	target

	orgID uuid.UUID
	// Org is the slug of the organization; "" for the installation's own work.
	Org   string
	Kind  string
	Title string
	Pill  pages.Pill
	Error string
	Tries int64
	Since time.Time
}

// Target is how a form names the trouble.
func (t trouble) Target() string { return t.String() }

// allows reports whether the operation can be done about it: keys and runs are retried, and never thrown away.
func (t trouble) allows(action operation) bool {
	return action == operationRetry || t.kind == kindJob || t.kind == kindTask
}

// has reports whether somebody who looks for the text means this.
func (t trouble) has(text string) bool {
	return strings.Contains(strings.ToLower(strings.Join([]string{t.Org, t.id, t.Title, t.Error, t.Kind}, "\n")),
		strings.ToLower(text))
}

func troubleOfKey(key admin.StuckKey) trouble {
	pill := pages.NewPill("warn", "Abandoned")
	if key.Dead {
		pill = pages.NewPill("fail", "Dead")
	}
	return trouble{
		target: target{kindKey, key.OrgID.String(), key.ID.String()}, orgID: key.OrgID,
		Kind: "key: " + operationNames().Title(key.Endpoint), Title: key.Key, Pill: pill,
		Error: key.LastError, Tries: key.Attempts, Since: key.CreatedAt,
	}
}

func troubleOfRun(run validations.LateRun) trouble {
	return trouble{
		target: target{kindRun, run.OrgID.String(), run.ID.String()}, orgID: run.OrgID,
		Kind: "run", Title: run.Workflow + " " + run.ID.String(),
		Pill: pages.NewPill("warn", "Late"), Tries: run.Attempts, Since: run.CreatedAt,
	}
}

func troubleOfJob(job tasks.ParkedJob) trouble {
	return trouble{
		target: target{kindJob, job.OrgID.String(), strconv.FormatInt(job.ID, 10)}, orgID: job.OrgID,
		Kind: "job in the outbox", Title: string(job.Kind) + " " + job.SubjectID.String(),
		Pill: pages.NewPill("fail", "Parked"), Error: job.LastError, Tries: job.Attempts, Since: job.CreatedAt,
	}
}

func troubleOfTask(task tasks.ArchivedTask) trouble {
	orgID, _ := tasks.OrganizationOf(task.ID)
	return trouble{
		target: target{kindTask, task.Queue, task.ID}, orgID: orgID,
		Kind: "task of queue " + task.Queue, Title: task.Kind + " " + task.ID,
		Pill: pages.NewPill("fail", "Failed"), Error: task.Error, Tries: task.Tries, Since: task.FailedAt,
	}
}

// stateCount is how many keys of all organizations are in a state.
type stateCount struct {
	State string
	Count int64
}

func newStateCounts(keys admin.KeyCounts) []stateCount {
	states := []admin.State{
		admin.StateInProgress, admin.StateAbandoned, admin.StateDead, admin.StateFinished,
	}
	counts := make([]stateCount, len(states))
	for i, state := range states {
		counts[i] = stateCount{strings.ReplaceAll(string(state), "_", " "), keys.ByState[state]}
	}
	return counts
}

// operationsPage shows the installation, and what needs a person.
type operationsPage struct {
	installation

	Troubles []trouble
	// All counts the troubles before they were narrowed; More says that not all of them were read.
	All  int64
	More bool
	Text string
	// Reason, Chosen and Problem are those of a form that was refused.
	Reason  string
	Chosen  map[string]bool
	Problem *core.Error
}

// narrowed keeps the troubles that the text finds.
func narrowed(troubles []trouble, text string) []trouble {
	var kept []trouble
	for _, t := range troubles {
		if t.has(text) {
			kept = append(kept, t)
		}
	}
	return kept
}

// confirmPage says what an operation would do, before it is done.
type confirmPage struct {
	Action operation
	Reason string
	Chosen []trouble
	// Left counts what was chosen and is left alone: it is over by now, or the operation is not for it.
	Left int64
}
