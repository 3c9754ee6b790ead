package crash

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/objectstore"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// store is an object store that faults strike when an object is put into it.
type store struct {
	*outside.Plan[string]

	server *objectstore.Server
	// url leads to the store through what strikes.
	url string
}

func newStore(tb testing.TB) *store {
	tb.Helper()
	s := &store{Plan: outside.NewPlan[string](outside.Accept), server: objectstore.Start(tb)}
	s.url = s.server.Behind(tb, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut {
				server.ServeHTTP(w, r)
				return
			}
			_, hook := s.Next()
			hook(outside.Received, r.URL.Path)
			server.ServeHTTP(w, r)
			hook(outside.Acted, r.URL.Path)
		})
	})
	return s
}

// checkStore demands that every chunk has its object, also after a sweep, and that nothing else is left then.
func (s *stage) checkStore(tb testing.TB) {
	tb.Helper()
	const day = 25 * time.Hour
	settings := append(slices.Clip(s.Settings), "SV_CONTENT_URL="+s.store.server.URL())
	s.passTime(tb)
	program.Execute(tb, settings, "", "admin", "purge") // It deletes the uploads, and spares their young objects.
	s.store.server.Age(tb, day)
	program.Execute(tb, settings, "", "admin", "purge")
	for _, name := range s.store.server.Objects(tb) {
		if n := program.Count(tb, s.DB, `SELECT count(*) FROM upload_objects WHERE concat(org_id, '/', upload_id, '/',
			lpad(to_hex(first_byte), 16, '0'), '-', encode(sha256, 'hex')) = '`+name+"'"); n != 1 {
			tb.Errorf("%d rows name the object %s, want one", n, name)
		}
	}
	rows := program.Count(tb, s.DB, "SELECT count(*) FROM upload_objects")
	if n := len(s.store.server.Objects(tb)); n != rows || n != 2 {
		tb.Errorf("%d objects and %d rows, want two of both", n, rows)
	}
	if lost := program.Execute(tb, settings, "", "admin", "runs", "lost", "--documents"); lost != "" {
		tb.Errorf("documents are lost:\n%s", lost)
	}
}
