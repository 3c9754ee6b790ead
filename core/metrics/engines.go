package metrics

import "github.com/prometheus/client_golang/prometheus"

// EngineUsage is how much of its capacity a process uses for engines, and for runs that it has started itself.
type EngineUsage struct {
	// PlacesTaken of Places are taken by steps of runs from the queue, and Waiting ones wait for a place.
	PlacesTaken, Places, Waiting int
	// MemoryUsed of Memory, in bytes, is reserved by engines, and MemoryWaiting ones wait for memory.
	MemoryUsed, Memory int64
	MemoryWaiting      int
	// LocalTaken of Local places are taken by runs that are executed where they were started.
	LocalTaken, Local int
}

// Engines collects the usage of engines at each scrape.
type Engines struct {
	read                                         func() EngineUsage
	taken, places, waiting, used, memory, queued *prometheus.Desc
	localTaken, local                            *prometheus.Desc
}

// NewEngines makes an Engines.
func NewEngines(read func() EngineUsage) *Engines {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("sv_"+name, help, nil, nil)
	}
	return &Engines{
		read:    read,
		taken:   desc("engine_places_taken", "Places of engines that steps of runs from the queue have taken."),
		places:  desc("engine_places", "Places of engines for steps of runs from the queue."),
		waiting: desc("engine_places_waiting", "Steps that wait for a place."),
		used:    desc("engine_memory_used_bytes", "Memory that engines have reserved of their budget."),
		memory:  desc("engine_memory_bytes", "The memory budget of all engines, SV_ENGINE_MEMORY."),
		queued:  desc("engine_memory_waiting", "Steps that wait for memory."),
		localTaken: desc("local_places_taken",
			"Places that runs which are executed where they were started have taken."),
		local: desc("local_places", "Places of such runs, SV_LOCAL_RUNS; 0 where the process executes none."),
	}
}

// Describe sends the descriptions of the gauges.
func (e *Engines) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		e.taken, e.places, e.waiting, e.used, e.memory, e.queued, e.localTaken, e.local,
	} {
		descs <- desc
	}
}

// Collect sends the gauges.
func (e *Engines) Collect(metrics chan<- prometheus.Metric) {
	usage := e.read()
	for desc, value := range map[*prometheus.Desc]float64{
		e.taken: float64(usage.PlacesTaken), e.places: float64(usage.Places), e.waiting: float64(usage.Waiting),
		e.used: float64(usage.MemoryUsed), e.memory: float64(usage.Memory), e.queued: float64(usage.MemoryWaiting),
		e.localTaken: float64(usage.LocalTaken), e.local: float64(usage.Local),
	} {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
}
