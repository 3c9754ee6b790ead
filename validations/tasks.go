package validations

import "github.com/simplevalidations/simplevalidations/core/jobs"

// Tasks registers the handlers of the app's jobs.
func (a *App) Tasks(handle func(jobs.Kind, jobs.Handler)) {
	handle(JobExecute, a.service.Execute)
}
