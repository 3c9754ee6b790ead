package idemcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"
)

// Proxy stands between clients and an API, and does with each request what its fault says.
type Proxy struct {
	// URL is where clients find the proxy.
	URL string

	target string
	fault  Fault
	client *http.Client
	server *httptest.Server
	// running ends with the proxy, and with it what is under way.
	running context.Context //nolint:containedctx // it is the life of the proxy
	end     context.CancelFunc
}

// Fault is what a network does with one request.
type Fault func(*Passage)

// Passage is a request on its way through a proxy.
type Passage struct {
	W    http.ResponseWriter
	R    *http.Request
	Body []byte

	proxy *Proxy
	got   answer
}

// StartProxy starts a proxy in front of an API, behind a certificate that nobody trusts if it is encrypted.
func StartProxy(target string, encrypted bool, fault Fault) *Proxy {
	p := &Proxy{target: target, fault: fault}
	p.running, p.end = context.WithCancel(context.Background())
	p.client = clientOf(&http.Transport{MaxIdleConnsPerHost: mostAtOnce})
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if encrypted {
		p.server.StartTLS()
	} else {
		p.server.Start()
	}
	p.URL = p.server.URL
	return p
}

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() {
	p.end()
	p.server.CloseClientConnections()
	p.server.Close()
	p.client.CloseIdleConnections()
}

// ServeHTTP does what the fault says.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.fault(&Passage{W: w, R: r, proxy: p})
}

// Read reads the body of the request, if that was not done already.
func (p *Passage) Read() error {
	if p.Body != nil {
		return nil
	}
	var err error
	p.Body, err = io.ReadAll(p.R.Body)
	return err
}

// Forward sends the request on. Without cancel it arrives also where the client is gone.
func (p *Passage) Forward(cancel bool) (*http.Response, error) {
	if err := p.Read(); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	address, err := url.Parse(p.proxy.target + p.R.URL.RequestURI())
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	ctx := p.proxy.running
	if cancel {
		ctx = p.R.Context()
	}
	onward, err := http.NewRequestWithContext(ctx, p.R.Method, address.String(), bytes.NewReader(p.Body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	onward.Header, onward.GetBody = p.R.Header.Clone(), nil
	return p.proxy.client.Do(onward)
}

// Perform forwards the request and reads its answer. Where there is none it hangs up and reports false.
func (p *Passage) Perform() bool {
	got, err := p.Forward(false)
	if err == nil {
		p.got = answerOf(got)
		err = p.got.err
	}
	if err != nil {
		p.HangUp(false)
	}
	return err == nil
}

// Deliver answers what Perform has read.
func (p *Passage) Deliver() {
	maps.Copy(p.W.Header(), p.got.header)
	p.W.WriteHeader(p.got.status)
	_, _ = p.W.Write(p.got.body) // The client sees what is missing.
}

// Await waits until the client gives up.
func (p *Passage) Await() {
	select {
	case <-p.R.Context().Done():
	case <-p.proxy.running.Done():
	}
}

// HangUp ends the connection of the client.
func (p *Passage) HangUp(reset bool) {
	connection, _, err := http.NewResponseController(p.W).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := connection.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // Without it the end is only less abrupt.
	}
	_ = connection.Close() // It is broken on purpose.
}

// pass withholds the answer until it is complete.
func pass(p *Passage) {
	if p.Perform() {
		p.Deliver()
	}
}

// hangUp ends the connection once the request has come so far; a reset discards what is under way.
func hangUp(far func(*Passage) bool, reset bool) Fault {
	return func(p *Passage) {
		if far(p) {
			p.HangUp(reset)
		}
	}
}

// late forwards the request and never answers.
func late(p *Passage) {
	if p.Perform() {
		p.Await()
	}
}

// duplicate forwards the request twice at once and answers with the second answer.
func duplicate(p *Passage) {
	if p.Read() != nil {
		return
	}
	var other sync.WaitGroup
	other.Go(func() {
		if got, err := p.Forward(false); err == nil {
			_ = got.Body.Close() // Nobody waits for it.
		}
	})
	pass(p)
	other.Wait()
}

// delay passes the request on after a moment.
func delay(p *Passage) {
	select {
	case <-time.After(delayed):
		pass(p)
	case <-p.proxy.running.Done():
	}
}

// delayed is for how long delay holds a request back.
const delayed = 200 * time.Millisecond

// cut forwards the request and ends the connection in the middle of the answer's body.
func cut(p *Passage) {
	if !p.Perform() {
		return
	}
	connection, buffered, err := http.NewResponseController(p.W).Hijack()
	if err != nil {
		return
	}
	defer connection.Close()
	head := http.Response{
		StatusCode: p.got.status, ProtoMajor: 1, ProtoMinor: 1, Header: p.got.header,
		ContentLength: int64(len(p.got.body)), Body: io.NopCloser(bytes.NewReader(p.got.body[:len(p.got.body)/2])),
	}
	err = head.Write(buffered)             // It fails where the body ends too early.
	_ = errors.Join(err, buffered.Flush()) // It is broken on purpose.
}

// Faults are those that a client can meet, by name.
func Faults() map[string]Fault {
	read := func(p *Passage) bool { return p.Read() == nil }
	return map[string]Fault{
		"buffer": pass, "drop_before": hangUp(read, false), "reset_before": hangUp(read, true),
		"drop_after": hangUp((*Passage).Perform, false), "reset_after": hangUp((*Passage).Perform, true),
		"cut": cut, "late": late, "duplicate": duplicate, "delay": delay,
	}
}
