// Package validations owns submissions, runs, step runs and findings, and executes runs.
//
// A run stores the digest of the definition it executes, so it needs no workflow, and editing a
// workflow never changes what an old run checked.
package validations

import "github.com/simplevalidations/simplevalidations/core"

// App is the app: its service and the views on it.
type App struct {
	service *Service
	waiters *Waiters
	streams *streams
	check   *core.Validator
}

// New makes the app.
func New(service *Service, waiters *Waiters, check *core.Validator) *App {
	return &App{service: service, waiters: waiters, streams: newStreams(), check: check}
}
