package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/tasks"
)

// A killed process is not reported when another one was started in its place.
func TestProcessesAreGoneUntilTheyAreReplaced(t *testing.T) {
	t.Parallel()
	now := time.Now()
	process := func(host, part string, started, silent time.Duration) tasks.ProcessState {
		return tasks.ProcessState{
			ID: uuid.New(), Process: tasks.Process{Host: host, Parts: []string{part}},
			StartedAt: now.Add(-started), SeenAt: now.Add(-silent), SilentFor: silent,
		}
	}
	oldWeb, oldWorker := process("web-1", "web", 5*time.Hour, 0), process("worker-1", "worker", 5*time.Hour, 0)
	newWeb, newWorker := process("web-3", "web", time.Hour, 0), process("worker-3", "worker", time.Hour, 0)
	deadWeb := process("web-2", "web", 5*time.Hour, 2*time.Hour)
	deadWorker := process("worker-2", "worker", 5*time.Hour, 2*time.Hour)
	restartedWeb := process("web-2", "web", 110*time.Minute, 90*time.Minute)
	earlierWeb := process("web-0", "web", 5*time.Hour, 3*time.Hour)
	for name, c := range map[string]struct{ processes, want []tasks.ProcessState }{
		"NoneOfTheLiving":       {[]tasks.ProcessState{oldWeb, oldWorker}, nil},
		"NotTheReplaced":        {[]tasks.ProcessState{oldWeb, newWeb, deadWeb}, nil},
		"WhereNoneWasStarted":   {[]tasks.ProcessState{oldWeb, deadWeb}, []tasks.ProcessState{deadWeb}},
		"WhereAnotherPartIsNew": {[]tasks.ProcessState{newWorker, deadWeb}, []tasks.ProcessState{deadWeb}},
		"WhereOneReplacesTwo": {
			[]tasks.ProcessState{newWeb, deadWeb, earlierWeb}, []tasks.ProcessState{earlierWeb},
		},
		"NotTheReplacedOfTheReplaced": {[]tasks.ProcessState{newWeb, restartedWeb, deadWeb}, nil},
		"WhereTheReplacedIsGone": {
			[]tasks.ProcessState{oldWeb, restartedWeb, deadWeb}, []tasks.ProcessState{restartedWeb},
		},
		"OfEachPartSeparately": {
			[]tasks.ProcessState{newWeb, deadWeb, deadWorker}, []tasks.ProcessState{deadWorker},
		},
		"WhereBothPartsHaveHeirs": {[]tasks.ProcessState{newWeb, newWorker, deadWeb, deadWorker}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Gone(c.processes)
			if diff := cmp.Diff(hosts(c.want), hosts(got)); diff != "" {
				t.Errorf("gone (-want +got):\n%s", diff)
			}
		})
	}
}

func hosts(processes []tasks.ProcessState) []string {
	names := []string{}
	for _, process := range processes {
		names = append(names, process.Host)
	}
	return names
}
