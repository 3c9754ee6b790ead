// Package jobs stages work in the database: a job is a row that commits with the change that made it
// necessary (a transactional outbox).
//
// It does not queue or run anything; package tasks moves staged jobs to the queue and runs them.
package jobs

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// EnqueueLock is the advisory lock of the one enqueuer that hands over at a time. What is in the queue would otherwise
// be counted by several before any of them has added to it.
const EnqueueLock = 7120531966

// Kind names what is to be done. The app that owns the data declares it and handles it.
type Kind string

// Job is work about one subject of an organization.
type Job struct {
	Kind      Kind
	OrgID     uuid.UUID
	SubjectID uuid.UUID
	// Epoch says which try this is. A job whose subject has moved to a later epoch does nothing.
	Epoch int
}

// Handler does one job. It is safe to run twice and it decides by the database, never by the queue,
// whether there is anything left to do. An error asks the queue for a later try.
type Handler func(ctx context.Context, job Job) error

// TaskID names the job in the queue. It carries the epoch, so a later try is never taken for an
// earlier one that the queue still remembers.
func (j Job) TaskID() string {
	return fmt.Sprintf("%s:%s:%s:%d", j.Kind, j.OrgID, j.SubjectID, j.Epoch)
}

// Stage adds the staging of jobs to a batch. Wake the Signal after the commit.
func Stage(batch *db.Batch, jobs ...Job) {
	stage(batch, "", jobs)
}

// StageGranted is Stage for those jobs whose subjects the batch has granted (db.Granted).
func StageGranted(batch *db.Batch, jobs ...Job) {
	stage(batch, ` WHERE j.subject_id = ANY (`+db.Granted+`)`, jobs)
}

func stage(batch *db.Batch, condition string, jobs []Job) {
	batch.Queue(`
		INSERT INTO staged_jobs (kind, org_id, subject_id, epoch)
		SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::integer[])
			AS j (kind, org_id, subject_id, epoch)`+condition,
		db.Column(jobs, func(j *Job) string { return string(j.Kind) }),
		db.Column(jobs, func(j *Job) *uuid.UUID { return &j.OrgID }),
		db.Column(jobs, func(j *Job) *uuid.UUID { return &j.SubjectID }),
		db.Column(jobs, func(j *Job) int { return j.Epoch }))
}

// Signal tells the enqueuer of the same process that something was staged, so that a job need not wait for the next
// poll. Signals that were not taken yet count as one.
type Signal struct {
	ready chan struct{}
}

// NewSignal makes a Signal.
func NewSignal() *Signal {
	return &Signal{ready: make(chan struct{}, 1)}
}

// Wake never blocks. Call it after the commit, when the rows can be seen.
func (s *Signal) Wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Ready delivers one value after one or more calls of Wake.
func (s *Signal) Ready() <-chan struct{} {
	return s.ready
}
