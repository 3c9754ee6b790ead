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

// maxProcesses is how many processes are looked at.
const maxProcesses = 100

// The loops, as processes tell of them.
const (
	loopEnqueuer  = "enqueuer"
	loopSweeper   = "sweeper"
	loopUploads   = "sweeper of uploads"
	loopCompleter = "completer"
	loopWaiters   = "waiters"
	loopActivity  = "activity of keys"
	loopLastUse   = "last use of tokens"
)

// duty is a part of the service, or one of its loops, that at least one process has to run.
type duty struct {
	// key is how processes tell of it, and name how people do.
	key, name string
	// without is what happens while nobody does it, and start the process that does.
	without, start string
}

// duties are all there are.
func duties() []duty {
	const anyServe, web = "simplevalidations serve", "simplevalidations serve --only web"
	const worker, scheduler = "simplevalidations serve --only worker", "simplevalidations serve --only scheduler"
	return []duty{
		{string(roleWeb), "web server", "no request is answered", web},
		{string(roleWorker), "worker", "runs stay PENDING", worker},
		{string(roleScheduler), "scheduler", "nothing is deleted when its time is over", scheduler},
		{loopEnqueuer, loopEnqueuer, "runs that are started do not reach the workers", anyServe},
		{loopSweeper, loopSweeper, "runs whose worker or message was lost stay as they are", worker},
		{loopUploads, loopUploads, "documents of requests that were cut off are not deleted", worker},
		{loopCompleter, loopCompleter, "keys of requests that were cut off stay locked", worker},
		{loopWaiters, loopWaiters, "clients that wait for a run do not hear of its end", web},
		{loopActivity, loopActivity, "replays of keys are not counted", web},
		{loopLastUse, loopLastUse, "the last use of tokens is not kept", web},
	}
}

// partsOf are what a process is started for that plays the role.
func partsOf(part role) []string {
	if part == roleAll {
		return []string{string(roleWeb), string(roleWorker), string(roleScheduler)}
	}
	return []string{string(part)}
}

// heartbeat is that of this process.
func (p *Project) heartbeat(part role) (*tasks.Heartbeat, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("ask for the name of this machine: %w", err)
	}
	return tasks.NewHeartbeat(p.db, tasks.Process{
		Host: host, PID: os.Getpid(), Version: p.version, Parts: partsOf(part),
	})
}

// missing are the duties that no living process does.
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

// releases are the versions of the living processes, each once.
func releases(processes []tasks.ProcessState) []string {
	var all []string
	for _, process := range living(processes) {
		all = append(all, process.Version)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// complaints say in a sentence each what is wrong with the processes, besides what is missing.
func complaints(processes []tasks.ProcessState) []string {
	var all []string
	for _, process := range processes {
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
		return []string{fmt.Sprintf("%s has been silent for %s", nameOf(process), silence)}
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
	return fmt.Sprintf("%s process %d", process.Host, process.PID)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
