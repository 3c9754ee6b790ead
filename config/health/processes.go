package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// MaxProcesses bounds how many processes are read.
const MaxProcesses = 100

// The names of the loops, in heartbeats and on the page.
const (
	LoopEnqueuer  = "enqueuer"
	LoopSweeper   = "sweeper"
	LoopUploads   = "uploads sweeper"
	LoopMails     = "mails sweeper"
	LoopCompleter = "completer"
	LoopPublisher = "event publisher"
	LoopWaiters   = "waiters"
	LoopActivity  = "key activity"
	LoopRequests  = "request log"
	LoopLastUse   = "token last use"
)

// Duty is a part of the service, or one of its loops, that at least one process has to run.
type Duty struct {
	// key is its name in heartbeats, and Name its name for people.
	key, Name string
	// Without is the effect while no process runs it, and Start the command that starts such a process.
	Without, Start string
}

// AnyServe starts what any process does.
const AnyServe = "simplevalidations serve"

// duties lists all duties.
func duties() []Duty {
	const web, worker, scheduler = AnyServe + " --only web", AnyServe + " --only worker", AnyServe + " --only scheduler"
	return []Duty{
		{string(Web), "web server", "no request is answered", web},
		{string(Worker), "worker", "runs stay PENDING", worker},
		{string(Scheduler), "scheduler", "nothing is deleted when it expires", scheduler},
		{LoopEnqueuer, LoopEnqueuer, "runs that are started do not reach the workers", AnyServe},
		{LoopSweeper, LoopSweeper, "runs whose worker or task was lost are not retried", worker},
		{LoopUploads, LoopUploads, "documents of interrupted requests are not deleted", worker},
		{LoopMails, LoopMails, "mails that could not be sent are not sent again", worker},
		{LoopCompleter, LoopCompleter, "keys of interrupted requests stay locked", worker},
		{LoopPublisher, LoopPublisher, "events are not listed, and webhooks get none", worker},
		{LoopWaiters, LoopWaiters, "clients that wait for a run are not answered when it ends", AnyServe},
		{LoopActivity, LoopActivity, "replays of keys are not counted", web},
		{LoopRequests, LoopRequests, "refused and repeated requests are missing from it", web},
		{LoopLastUse, LoopLastUse, "the time when a token was last used is not stored", web},
	}
}

// Missing returns the duties that no living process does.
func Missing(processes []tasks.ProcessState) []Duty {
	done := make(map[string]bool)
	for _, process := range Living(processes) {
		for _, part := range process.Parts {
			done[part] = true
		}
		for _, loop := range process.Loops {
			done[loop.Name] = true
		}
	}
	return slices.DeleteFunc(duties(), func(d Duty) bool { return done[d.key] })
}

// Living are the processes that send heartbeats.
func Living(processes []tasks.ProcessState) []tasks.ProcessState {
	return slices.DeleteFunc(slices.Clone(processes), func(p tasks.ProcessState) bool { return p.SilentFor > 0 })
}

// Gone returns the silent processes that no other one has replaced: a successor has the same parts and was started
// after the last heartbeat. Each process is the successor of one at most, also one that is silent itself by now.
func Gone(processes []tasks.ProcessState) []tasks.ProcessState {
	successors := slices.Clone(processes)
	left := slices.DeleteFunc(slices.Clone(processes), func(p tasks.ProcessState) bool { return p.SilentFor == 0 })
	slices.SortStableFunc(left, func(a, b tasks.ProcessState) int { return b.SeenAt.Compare(a.SeenAt) })
	return slices.DeleteFunc(left, func(silent tasks.ProcessState) bool {
		at := slices.IndexFunc(successors, func(p tasks.ProcessState) bool {
			return p.ID != silent.ID && p.StartedAt.After(silent.SeenAt) && slices.Equal(p.Parts, silent.Parts)
		})
		if at >= 0 {
			successors = slices.Delete(successors, at, at+1)
		}
		return at >= 0
	})
}

// releases returns the versions of the living processes, each once.
func releases(processes []tasks.ProcessState) []string {
	var all []string
	for _, process := range Living(processes) {
		all = append(all, process.Version)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Complaints returns a sentence for each fault of a process. Missing duties are not among them.
func Complaints(processes []tasks.ProcessState) []string {
	var all []string
	for _, process := range append(Living(processes), Gone(processes)...) {
		all = append(all, complaintsOf(process)...)
	}
	if found := releases(processes); len(found) > 1 {
		all = append(all, "several releases run at once: "+strings.Join(found, ", "))
	}
	return all
}

// complaintsOf returns a sentence for each fault of one process.
func complaintsOf(process tasks.ProcessState) []string {
	if process.SilentFor > 0 {
		silence := pages.Took(process.SilentFor.Round(time.Second))
		return []string{fmt.Sprintf("%s has sent no heartbeat for %s", nameOf(process), silence)}
	}
	var all []string
	for _, loop := range process.Loops {
		name := fmt.Sprintf("the %s of %s", loop.Name, nameOf(process))
		switch {
		case loop.Failures > 0:
			all = append(all, name+" fails: "+firstLine(loop.LastError))
		case loop.Late:
			all = append(all, name+" is late")
		}
	}
	return all
}

// nameOf names a process by its roles and its machine.
func nameOf(process tasks.ProcessState) string {
	return fmt.Sprintf("%s process %d on %s", strings.Join(process.Parts, "+"), process.PID, process.Host)
}

// firstLine returns the text without its other lines.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
