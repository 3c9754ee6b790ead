package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/simplevalidations/simplevalidations/core/share"
)

// Engines collect at each scrape how much a process uses of the places for steps of runs from the queue, of the memory
// of all engines, and of the places for runs that are executed where they were started.
func Engines(places, memory, local func() share.Usage) []prometheus.Collector {
	gauge := func(read func() share.Usage, name, help string, value func(share.Usage) int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sv_" + name, Help: help},
			func() float64 { return float64(value(read())) })
	}
	taken := func(u share.Usage) int64 { return int64(u.Taken) }
	total := func(u share.Usage) int64 { return int64(u.Places) }
	waiting := func(u share.Usage) int64 { return int64(u.Waiting) }
	return []prometheus.Collector{
		gauge(places, "engine_places_taken", "Places of engines that steps of runs from the queue have taken.", taken),
		gauge(places, "engine_places", "Places of engines for steps of runs from the queue.", total),
		gauge(places, "engine_places_waiting", "Steps that wait for a place.", waiting),
		gauge(memory, "engine_memory_used_bytes", "Memory that engines have reserved of their budget.",
			func(u share.Usage) int64 { return u.Used }),
		gauge(memory, "engine_memory_bytes", "The memory budget of all engines, SV_ENGINE_MEMORY.",
			func(u share.Usage) int64 { return u.Memory }),
		gauge(memory, "engine_memory_waiting", "Steps that wait for memory.", waiting),
		gauge(local, "local_places_taken",
			"Places that runs which are executed where they were started have taken.", taken),
		gauge(local, "local_places", "Places of such runs, SV_LOCAL_RUNS; 0 where the process executes none.", total),
	}
}
