package program

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// Link is a network between clients and a server. It passes everything on until it is told otherwise, and ends with its
// test.
type Link struct {
	listener net.Listener
	open     sync.WaitGroup

	mu              sync.Mutex // guards what follows
	network, server string
	change          *sync.Cond
	trouble         Trouble
	ended           bool
	pairs           map[*pair]struct{}
}

// Trouble is what a link does to what is sent over it. The zero value passes everything on.
type Trouble struct {
	// Refuse ends new connections at once.
	Refuse bool
	// Stall holds everything back, without a word to anybody.
	Stall bool
	// Delay holds each piece back for a while.
	Delay time.Duration
	// LoseAnswers resets the client's end of a connection in the place of an answer: the server has got the request.
	LoseAnswers bool
}

// Side is an end of the connections of a link.
type Side string

// The sides. What the other one sends to a side that was cut alone arrives nowhere, and it is told nothing until Mend.
const (
	Clients Side = "clients"
	Servers Side = "servers"
	Both    Side = "both"
)

// pair is a connection of a client with its own to the server. It is halved while one of them is left open alone.
type pair struct {
	client, server net.Conn
	halved         bool
}

// NewLink starts a link to a server, which need not be there yet. The network is that of net.Dial.
func NewLink(tb testing.TB, network, server string) *Link {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	l := &Link{listener: listener, network: network, server: server, pairs: make(map[*pair]struct{})}
	l.change = sync.NewCond(&l.mu)
	l.open.Go(l.accept)
	tb.Cleanup(func() {
		_ = listener.Close() // Nothing is lost with it.
		l.mu.Lock()
		l.ended = true
		l.mu.Unlock()
		l.Mend()
		l.Cut(Both, false)
		l.open.Wait()
	})
	return l
}

// Address is where clients find the server.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Lead has the link lead to another server from now on. It ends the connections to the one before.
func (l *Link) Lead(network, server string) {
	l.mu.Lock()
	l.network, l.server = network, server
	l.mu.Unlock()
	l.Cut(Both, true)
}

// Become changes what the link does from now on.
func (l *Link) Become(trouble Trouble) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = trouble
	l.change.Broadcast()
}

// Cut ends all connections on one side or on both, with a reset or in an orderly way.
func (l *Link) Cut(side Side, reset bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pairs {
		if side != Both {
			p.halved = true
		}
		if side != Servers {
			end(p.client, reset)
		}
		if side != Clients {
			end(p.server, reset)
		}
	}
}

// Mend ends all trouble, and the connections of which one side was cut.
func (l *Link) Mend() {
	l.Become(Trouble{})
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pairs {
		if p.halved {
			p.halved = false
			l.leave(p)
		}
	}
}

// end closes a connection. With a reset its peer loses what it has not read yet.
func end(conn net.Conn, reset bool) {
	if wire, ok := conn.(*net.TCPConn); ok && reset {
		_ = wire.SetLinger(0) // It may be closed already.
	}
	_ = conn.Close() // Its peer learns no more than that.
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.open.Go(func() { l.connect(client) })
	}
}

func (l *Link) connect(client net.Conn) {
	l.mu.Lock()
	network, address := l.network, l.server
	l.mu.Unlock()
	server, err := net.Dial(network, address)
	if err != nil {
		end(client, true) // It learns by this that there is no server.
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trouble.Refuse || l.ended {
		end(client, true)
		end(server, true)
		return
	}
	p := &pair{client: client, server: server}
	l.pairs[p] = struct{}{}
	l.open.Go(func() { l.pass(p, client, server, false) })
	l.open.Go(func() { l.pass(p, server, client, true) })
}

// pass passes on in one direction until either end closes.
func (l *Link) pass(p *pair, from, to net.Conn, answers bool) {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 && l.lets(answers) {
			_, writeErr := to.Write(piece[:n])
			err = errors.Join(err, writeErr)
		} else if n > 0 {
			end(p.client, true)
			break
		}
		if err != nil {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !p.halved {
		l.leave(p)
	}
}

// lets waits as long as a piece is held back, and reports whether it is passed on then.
func (l *Link) lets(answers bool) bool {
	l.mu.Lock()
	delay := l.trouble.Delay
	for l.trouble.Stall {
		l.change.Wait()
	}
	lost := answers && l.trouble.LoseAnswers
	l.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	return !lost
}

// leave ends both connections. The caller holds the lock.
func (l *Link) leave(p *pair) {
	delete(l.pairs, p)
	end(p.client, false)
	end(p.server, false)
}
