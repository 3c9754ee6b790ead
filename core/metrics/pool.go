package metrics

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Pool collects the state of a pool of database connections.
type Pool struct {
	pool                          *pgxpool.Pool
	connections, limit            *prometheus.Desc
	acquires, waits, waited, lost *prometheus.Desc
}

// NewPool makes a Pool.
func NewPool(pool *pgxpool.Pool) *Pool {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("sv_db_pool_"+name, help, labels, nil)
	}
	return &Pool{
		pool:        pool,
		connections: desc("connections", "Connections to the database, by what they do.", "state"),
		limit:       desc("max_connections", "The most connections that the process may have."),
		acquires:    desc("acquires_total", "Connections acquired from the pool."),
		waits:       desc("waits_total", "Acquisitions that had to wait."),
		waited:      desc("wait_seconds_total", "Time spent waiting for connections."),
		lost:        desc("canceled_acquires_total", "Waits for a connection that were canceled."),
	}
}

// Describe tells what is collected.
func (p *Pool) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{p.connections, p.limit, p.acquires, p.waits, p.waited, p.lost} {
		descs <- desc
	}
}

// Collect reads the pool's own counters, which costs nothing.
func (p *Pool) Collect(metrics chan<- prometheus.Metric) {
	stat := p.pool.Stat()
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
	}
	send(p.connections, prometheus.GaugeValue, float64(stat.AcquiredConns()), "in_use")
	send(p.connections, prometheus.GaugeValue, float64(stat.IdleConns()), "idle")
	send(p.connections, prometheus.GaugeValue, float64(stat.ConstructingConns()), "opening")
	send(p.limit, prometheus.GaugeValue, float64(stat.MaxConns()))
	send(p.acquires, prometheus.CounterValue, float64(stat.AcquireCount()))
	send(p.waits, prometheus.CounterValue, float64(stat.EmptyAcquireCount()))
	send(p.waited, prometheus.CounterValue, stat.EmptyAcquireWaitTime().Seconds())
	send(p.lost, prometheus.CounterValue, float64(stat.CanceledAcquireCount()))
}
