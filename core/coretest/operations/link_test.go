package operations

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link is the network between a primary and its standby.
type link struct {
	listener net.Listener
	primary  string
	open     sync.WaitGroup

	mu   sync.Mutex // guards what follows
	down bool
	ends map[net.Conn]struct{}
}

// newLink passes on to the socket of the primary.
func newLink(tb testing.TB, primary string) *link {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	l := &link{listener: listener, primary: primary, ends: make(map[net.Conn]struct{})}
	l.open.Go(l.accept)
	tb.Cleanup(func() {
		_ = listener.Close() // Nothing is lost with it.
		l.cut()
		l.open.Wait()
	})
	return l
}

// port is where the standby finds the primary on this machine.
func (l *link) port(tb testing.TB) string {
	tb.Helper()
	_, port, err := net.SplitHostPort(l.listener.Addr().String())
	if err != nil {
		tb.Fatalf("split the address of the link: %v", err)
	}
	return port
}

// cut ends all connections, and lets none through until mend.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for end := range l.ends {
		_ = end.Close() // Its peer learns no more than that.
	}
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

func (l *link) accept() {
	for {
		standby, err := l.listener.Accept()
		if err != nil {
			return
		}
		primary, err := net.Dial("unix", l.primary)
		if err != nil {
			_ = standby.Close() // It learns by this that there is no primary.
			continue
		}
		l.pass(standby, primary)
	}
}

// pass passes on in both directions until either end closes.
func (l *link) pass(standby, primary net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		_, _ = standby.Close(), primary.Close()
		return
	}
	l.ends[standby], l.ends[primary] = struct{}{}, struct{}{}
	for from, to := range map[net.Conn]net.Conn{standby: primary, primary: standby} {
		l.open.Go(func() {
			_, _ = io.Copy(to, from) // However it ends, the connection is over.
			_, _ = to.Close(), from.Close()
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.ends, from)
		})
	}
}
