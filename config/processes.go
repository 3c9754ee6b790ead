package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// maxProcesses bounds how many processes are read.
const maxProcesses = 100

// The names of the loops, in heartbeats and on the page.
const (
	loopEnqueuer  = "enqueuer"
	loopSweeper   = "sweeper"
	loopUploads   = "uploads sweeper"
	loopMails     = "mails sweeper"
	loopCompleter = "completer"
	loopWaiters   = "waiters"
	loopActivity  = "key activity"
	loopRequests  = "request log"
	loopLastUse   = "token last use"
)

// duty is a part of the service, or one of its loops, that at least one process has to run.
type duty struct {
	// key is its name in heartbeats, and name its name for people.
	key, name string
	// without is the effect while no process runs it, and start the command that starts such a process.
	without, start string
}

// anyServe starts what any process does.
const anyServe = "simplevalidations serve"

// duties lists all duties.
func duties() []duty {
	const web, worker, scheduler = anyServe + " --only web", anyServe + " --only worker", anyServe + " --only scheduler"
	return []duty{
		{string(roleWeb), "web server", "no request is answered", web},
		{string(roleWorker), "worker", "runs stay PENDING", worker},
		{string(roleScheduler), "scheduler", "nothing is deleted when it expires", scheduler},
		{loopEnqueuer, loopEnqueuer, "runs that are started do not reach the workers", anyServe},
		{loopSweeper, loopSweeper, "runs whose worker or task was lost are not retried", worker},
		{loopUploads, loopUploads, "documents of interrupted requests are not deleted", worker},
		{loopMails, loopMails, "mails that could not be sent are not sent again", worker},
		{loopCompleter, loopCompleter, "keys of interrupted requests stay locked", worker},
		{loopWaiters, loopWaiters, "clients that wait for a run are not answered when it ends", web},
		{loopActivity, loopActivity, "replays of keys are not counted", web},
		{loopRequests, loopRequests, "refused and repeated requests are missing from it", web},
		{loopLastUse, loopLastUse, "the time when a token was last used is not stored", web},
	}
}

// heartbeat makes the heartbeat of this process.
func (p *Project) heartbeat(parts roles) (*tasks.Heartbeat, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("ask for the name of this machine: %w", err)
	}
	return tasks.NewHeartbeat(p.db, tasks.Process{
		Host: host, PID: os.Getpid(), Version: p.version, Parts: parts.names(),
	})
}

// missing returns the duties that no living process does.
func missing(processes []tasks.ProcessState) []duty {
	done := make(map[string]bool)
	for _, process := range living(processes) {
		for _, part := range process.Parts {
			done[part] = true
		}
		for _, loop := range process.Loops {
			done[loop.Name] = true
		}
	}
	return slices.DeleteFunc(duties(), func(d duty) bool { return done[d.key] })
}

func living(processes []tasks.ProcessState) []tasks.ProcessState {
	return slices.DeleteFunc(slices.Clone(processes), func(p tasks.ProcessState) bool { return p.SilentFor > 0 })
}

// gone returns the silent processes that no other one has replaced: a successor has the same parts and was started
// after the last heartbeat. Each process is the successor of one at most, also one that is silent itself by now.
func gone(processes []tasks.ProcessState) []tasks.ProcessState {
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
	for _, process := range living(processes) {
		all = append(all, process.Version)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// complaints returns a sentence for each fault of a process. Missing duties are not among them.
func complaints(processes []tasks.ProcessState) []string {
	var all []string
	for _, process := range append(living(processes), gone(processes)...) {
		all = append(all, complaintsOf(process)...)
	}
	if found := releases(processes); len(found) > 1 {
		all = append(all, "several releases run at once: "+strings.Join(found, ", "))
	}
	return all
}

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

func nameOf(process tasks.ProcessState) string {
	return fmt.Sprintf("%s process %d on %s", strings.Join(process.Parts, "+"), process.PID, process.Host)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
