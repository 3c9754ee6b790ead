package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"

	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// The queues. Periodic work has its own, so that a long backlog of jobs cannot hold it up.
const (
	QueueJobs     = "jobs"
	QueuePeriodic = "periodic"
)

const (
	// payloadVersion changes when an older worker would misread what is written.
	payloadVersion = 1
	// periodicPrefix keeps the names of periodic work apart from the kinds of jobs.
	periodicPrefix = "periodic:"

	jobRetries = 5
	// periodicTimeout only catches handlers that hang.
	periodicTimeout = 30 * time.Minute
	// periodicRetries are few, because the next activation is the better retry.
	periodicRetries = 2
)

// errNotMine says that this worker does not know what the task asks for, and a newer one may.
var errNotMine = errors.New("this worker does not know the task")

// payload is a job in the queue. Its kind is the task's type.
type payload struct {
	Version   int       `json:"v"`
	OrgID     uuid.UUID `json:"org"`
	SubjectID uuid.UUID `json:"subject"`
	Epoch     int       `json:"epoch"`
}

// encodeJob makes the task of a job. Nothing of it is retained once it is done: a finished task that the queue
// remembered would stand in the way of handing the same job over again.
func encodeJob(job jobs.Job, timeout time.Duration) (*asynq.Task, error) {
	raw, err := json.Marshal(payload{
		Version: payloadVersion, OrgID: job.OrgID, SubjectID: job.SubjectID, Epoch: job.Epoch,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the job: %w", err)
	}
	return asynq.NewTask(string(job.Kind), raw, asynq.Queue(QueueJobs), asynq.TaskID(job.TaskID()),
		asynq.MaxRetry(jobRetries), asynq.Timeout(timeout), asynq.Retention(0)), nil
}

func decodeJob(task *asynq.Task) (jobs.Job, error) {
	var p payload
	if err := json.Unmarshal(task.Payload(), &p); err != nil {
		return jobs.Job{}, fmt.Errorf("%w: its payload cannot be read: %w", errNotMine, err)
	}
	if p.Version != payloadVersion {
		return jobs.Job{}, fmt.Errorf("%w: its payload has version %d, want %d", errNotMine, p.Version, payloadVersion)
	}
	return jobs.Job{Kind: jobs.Kind(task.Type()), OrgID: p.OrgID, SubjectID: p.SubjectID, Epoch: p.Epoch}, nil
}

// encodePeriodic makes the task of a periodic piece of work. It has no id of its own: one that was archived would
// stand in the way of all later ones, and the ticks in the database already make many tasks one effect.
func encodePeriodic(name string) *asynq.Task {
	return asynq.NewTask(periodicPrefix+name, nil, asynq.Queue(QueuePeriodic),
		asynq.MaxRetry(periodicRetries), asynq.Timeout(periodicTimeout), asynq.Retention(0))
}

func decodePeriodic(task *asynq.Task) (string, bool) {
	return strings.CutPrefix(task.Type(), periodicPrefix)
}
