package metrics

import "github.com/prometheus/client_golang/prometheus"

// Kind is what is deleted when its time is over.
type Kind string

// The kinds. Documents and findings are counted by the runs that they belong to.
const (
	KindKey      Kind = "idempotency_key"
	KindDocument Kind = "document"
	KindFindings Kind = "findings"
	KindRequest  Kind = "request"
)

// Purges counts what is deleted.
type Purges struct {
	deleted map[Kind]prometheus.Counter
}

func newPurges(registry *prometheus.Registry) *Purges {
	deleted := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sv_reaper_deleted_total", Help: "What was deleted because its time was over.",
	}, []string{"kind"})
	registry.MustRegister(deleted)
	return &Purges{deleted: resolved(deleted, KindKey, KindDocument, KindFindings, KindRequest)}
}

// Deleted counts what was deleted.
func (p *Purges) Deleted(kind Kind, n int64) {
	p.deleted[kind].Add(float64(n))
}
