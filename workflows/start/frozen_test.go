package start

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// relay passes connections on to the server of a database, until it is told to freeze in the middle of what a client
// sends, as a process or a network may.
type relay struct {
	net.Listener

	// left is how many bytes of the clients are passed on before that; negative for all.
	left   atomic.Int64
	frozen chan struct{}
}

func startRelay(t *testing.T, server *pgxpool.Config) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", coretest.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: listener, frozen: make(chan struct{})}
	r.left.Store(-1)
	ended := t.Context()
	t.Cleanup(func() { _ = listener.Close() }) // Nobody connects any more.
	socket := filepath.Join(server.ConnConfig.Host, ".s.PGSQL."+strconv.Itoa(int(server.ConnConfig.Port)))
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("unix", socket)
			if err != nil {
				_ = client.Close() // The client learns it from the end.
				continue
			}
			go func() {
				<-ended.Done()
				_, _ = client.Close(), there.Close() // Nobody needs them any more.
			}()
			go func() { _, _ = io.Copy(client, there) }() // It ends with the connection.
			go r.passOn(there, client)
		}
	}()
	return r
}

func (r *relay) passOn(to io.Writer, from io.Reader) {
	chunk := make([]byte, 4<<10)
	for {
		n, err := from.Read(chunk)
		if err != nil {
			return
		}
		if r.left.Load() >= 0 && r.left.Add(-int64(n)) < 0 {
			close(r.frozen)
			return
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return
		}
	}
}

// A process that freezes while it sends a large document holds nothing that others wait for, its own key included.
// PostgreSQL has no time limit for that.
func TestAFrozenSenderHoldsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tn := b.tenant(t, 10)
	b.commit(t.Context(), tn.start(t, "first", "a"))
	server := b.db.Pool.Config()
	frozen := startRelay(t, server)
	sender := *b.starter
	sender.database = coretest.Connect(t, (&url.URL{
		Scheme: "postgres", Host: frozen.Addr().String(), User: url.User(server.ConnConfig.User),
		Path: "/" + server.ConnConfig.Database, RawQuery: "sslmode=disable",
	}).String())
	prepared := tn.start(t, "second", "a")
	sender.commitBatch(t.Context(), []*attempt{prepared})
	b.checkOutcomes(t, []*attempt{prepared}, "created")

	frozen.left.Store(100 << 10)
	large := tn.start(t, "large", "a")
	large.run.Submission.Content = make([]byte, 1<<20)
	go sender.commitBatch(t.Context(), []*attempt{large})
	<-frozen.frozen
	coretest.Eventually(t, func() bool {
		return coretest.One[int](t, b.db, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'active' AND wait_event = 'ClientRead'`) == 1
	})
	others := b.commit(t.Context(), tn.start(t, "third", "a"), tn.start(t, "large", "a"))
	b.checkOutcomes(t, others, "created", "created")
}
