package config

import (
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/execution"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// Services do the work behind the routes of a project, for programs that need no HTTP.
type Services struct {
	Users     *users.Service
	Workflows *workflows.Service
	Runs      *validations.Service
	Executor  *execution.Executor
	Waiters   *execution.Waiters
	Local     *execution.Local
	Completer *idempotency.Completer
	Activity  *admin.Activity
	Requests  *requestlog.Log
}

// Services returns the services of the project, which its routes use, too.
func (p *Project) Services() Services {
	return Services{
		Users: p.userService, Workflows: p.workflowService, Runs: p.runService, Executor: p.executor,
		Waiters: p.waiters, Local: p.local, Completer: p.completer, Activity: p.activity,
		Requests: p.requestLog,
	}
}
