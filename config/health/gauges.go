package health

import (
	"slices"
	"time"

	"github.com/simplevalidations/simplevalidations/core/metrics"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// AddGauges adds how many processes of each role there are, and the ages of the loops. A process that does all at once
// counts for each of its parts.
func AddGauges(found *metrics.Gauges, processes []tasks.ProcessState) {
	alive, silent := Living(processes), Gone(processes)
	for _, part := range AllRoles().Names() {
		for state, of := range map[string][]tasks.ProcessState{"alive": alive, "silent": silent} {
			n := 0
			for _, process := range of {
				if slices.Contains(process.Parts, part) {
					n++
				}
			}
			found.Add("sv_processes", "Processes by role, alive or silent without a successor.", float64(n),
				"role", part, "state", state)
		}
	}
	for loop, age := range loopAges(processes) {
		found.Add("sv_loop_last_success_age_seconds", "Time since the last successful pass of a loop in any process.",
			age.Seconds(), "loop", loop)
	}
}

// loopAges returns the shortest time since a successful pass of each loop that has had one.
func loopAges(processes []tasks.ProcessState) map[string]time.Duration {
	ages := make(map[string]time.Duration)
	for _, process := range processes {
		for _, loop := range process.Loops {
			if loop.Age == nil {
				continue
			}
			if age, found := ages[loop.Name]; !found || *loop.Age < age {
				ages[loop.Name] = *loop.Age
			}
		}
	}
	return ages
}
