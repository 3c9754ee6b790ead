package metrics

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gaugesTimeout bounds the reading of a source.
const gaugesTimeout = 3 * time.Second

// Gauges are read together. They describe the whole service, so they are the same in every process.
type Gauges []prometheus.Metric

// Add adds a gauge, with labels as pairs of a name and a value.
func (g *Gauges) Add(name, help string, value float64, labels ...string) {
	var names, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	desc := prometheus.NewDesc(name, help, names, nil)
	*g = append(*g, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, values...))
}

// Collected collects the gauges of the database and of the queue, which may be away. Refresh reads them, and they are
// kept until the next reading: a scrape costs the database nothing.
type Collected struct {
	database, queue source
}

// source is where gauges are read.
type source struct {
	read func(context.Context) (Gauges, error)
	last atomic.Pointer[Gauges]
}

// NewCollected makes a Collected; a loop has to call Refresh.
func NewCollected(database, queue func(context.Context) (Gauges, error)) *Collected {
	return &Collected{database: source{read: database}, queue: source{read: queue}}
}

// Refresh reads the gauges. One that could not be read is not collected, because an old value looks like a current one.
func (c *Collected) Refresh(ctx context.Context) error {
	return errors.Join(c.database.refresh(ctx), c.queue.refresh(ctx))
}

// refresh has a time of its own, so that a database that hangs does not pass for a queue that is away.
func (s *source) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, gaugesTimeout)
	defer cancel()
	gauges, err := s.read(ctx)
	if err != nil {
		s.last.Store(nil)
		return err
	}
	s.last.Store(&gauges)
	return nil
}

// Describe sends nothing, so that the registry takes what is collected as it comes.
func (c *Collected) Describe(chan<- *prometheus.Desc) {}

// Collect sends the gauges of the last reading.
func (c *Collected) Collect(metrics chan<- prometheus.Metric) {
	var up Gauges
	for name, last := range map[string]*Gauges{"database": c.database.last.Load(), "queue": c.queue.last.Load()} {
		value := 0.0
		if last != nil {
			value = 1
			up = append(up, *last...)
		}
		up.Add("sv_figures_up", "Whether the last reading of a source was successful.", value, "source", name)
	}
	for _, gauge := range up {
		metrics <- gauge
	}
}
