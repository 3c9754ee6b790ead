package pgproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// errCut means that the connection ends because a fault says so.
var errCut = errors.New("the connection is cut")

// session is one connection of a client, with its own to the server.
type session struct {
	proxy          *Proxy
	client, server net.Conn
	cutting        sync.Once
	ended          chan struct{}
	requests       requests
	// pending is what the client has sent and the server has not got yet.
	pending bytes.Buffer
	// backend is the server's process, which it names with its greeting.
	backend atomic.Int64
	// changed is how many statements of the open transaction have changed rows.
	changed atomic.Int64

	mu sync.Mutex
	// asked is how many answers the client has asked for, and held the one that is kept back. The first one is that
	// to the greeting.
	asked int
	held  *answer
}

// answer is the answer to a commit, kept back until its fault is over.
type answer struct {
	number           int
	arrived, deliver chan struct{}
	// instead is told from the message on that replaced is the kind of; nothing is replaced where it has no severity.
	instead  Error
	replaced byte
}

func newSession(p *Proxy, client, server net.Conn) *session {
	return &session{
		proxy: p, client: client, server: server, ended: make(chan struct{}),
		requests: newRequests(p.grammar), asked: 1,
	}
}

// cut ends the session, however often and from wherever it is called.
func (s *session) cut() {
	s.cutting.Do(func() {
		close(s.ended)
		_ = s.client.Close() // The other side sees an end, and there is nobody to tell of an error.
		_ = s.server.Close() // As before.
	})
}

func (s *session) run() {
	var answers sync.WaitGroup
	answers.Go(func() {
		defer s.cut()
		_ = s.relayAnswers() // Every error is the end of the session.
	})
	_ = s.relayRequests() // As before.
	s.cut()
	answers.Wait()
}

func (s *session) relayRequests() error {
	client := bufio.NewReader(s.client)
	if err := relayGreeting(client, s.client, s.server); err != nil {
		return err
	}
	for {
		kind, payload, err := readMessage(client, &s.pending)
		if err != nil {
			return err
		}
		if !s.requests.take(kind, payload) {
			continue
		}
		if s.proxy.silent.Load() {
			if kind == 'X' { // Terminate
				return errCut
			}
		} else if err := s.send(); err != nil {
			return err
		}
		s.pending.Reset()
	}
}

// send sends what is pending, or does with it what the fault says that strikes here.
func (s *session) send() error {
	if s.proxy.isCut(s.pending.Bytes()) {
		return errCut
	}
	if s.requests.asks {
		s.mu.Lock()
		s.asked++
		s.mu.Unlock()
		s.proxy.trips.Add(1)
	}
	commit, ok := s.requests.boundary(s.changed.Load() > 0)
	if s.requests.fresh {
		s.requests.fresh = false
		s.changed.Store(0)
	}
	if !ok {
		_, err := s.server.Write(s.pending.Bytes())
		return err
	}
	commit.Backend = int(s.backend.Load())
	return s.strike(s.proxy.decide(commit))
}

func (s *session) strike(fault Fault) error {
	if fault.Before != nil {
		fault.Before()
	}
	if fault.Abandon != nil {
		return s.abandon(fault.Abandon)
	}
	tells := fault.Error.Severity != ""
	if fault.Lose && !tells {
		return errCut
	}
	held := s.hold()
	sent := s.pending.Bytes()
	if tells {
		held.instead, held.replaced = fault.Error, completeKind
	}
	if tells && fault.Lose {
		sent, held.replaced = append(slices.Clip(sent[:s.requests.commitAt]), rollback()...), parsedKind
	}
	if _, err := s.server.Write(sent); err != nil {
		return err
	}
	select {
	case <-held.arrived:
	case <-s.ended:
		return errCut
	}
	if fault.After != nil {
		fault.After()
	}
	if fault.Swallow {
		return errCut
	}
	close(held.deliver)
	return nil
}

// abandon leaves the server alone with the beginning of a request.
func (s *session) abandon(noticed <-chan struct{}) error {
	if _, err := s.server.Write(s.pending.Bytes()[:s.requests.commitAt]); err != nil {
		return err
	}
	_ = s.client.Close() // The client sees an end, and there is nobody to tell of an error.
	select {
	case <-noticed:
	case <-s.ended:
	}
	return errCut
}

// hold keeps the answer back that the client has asked for last.
func (s *session) hold() *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = &answer{number: s.asked, arrived: make(chan struct{}), deliver: make(chan struct{})}
	return s.held
}

// holding returns the answer with the number when it is to be kept back.
func (s *session) holding(number int) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil || s.held.number != number {
		return nil
	}
	return s.held
}

func (s *session) relayAnswers() error {
	server := bufio.NewReader(s.server)
	var answered bytes.Buffer
	// last is where among what was answered the last message of a kind begins.
	last := make(map[byte]int)
	for number := 1; ; {
		begin := answered.Len()
		kind, payload, err := readMessage(server, &answered)
		held := s.holding(number)
		if err != nil {
			return errors.Join(err, s.passLastWords(&answered, held))
		}
		last[kind] = begin
		switch {
		case kind == backendKind:
			s.backend.Store(int64(binary.BigEndian.Uint32(payload)))
		case kind == completeKind && changesRows(payload):
			s.changed.Add(1)
		case kind == readyKind: // It ends an answer.
			number++
			if held != nil && !s.await(held) {
				return errCut
			}
		}
		if kind != readyKind && (held != nil || server.Buffered() > 0) {
			continue
		}
		if err := s.deliver(&answered, last, held); err != nil {
			return err
		}
		answered.Reset()
		clear(last)
	}
}

// passLastWords passes on what a server has said before it ended the connection, such as why. It is an answer, and is
// kept back as one.
func (s *session) passLastWords(said *bytes.Buffer, held *answer) error {
	if said.Len() == 0 || held != nil && !s.await(held) {
		return errCut
	}
	return s.deliver(said, nil, held)
}

// deliver passes an answer on, with the error of a fault in the place of that to its commit. A server that has refused
// a statement before the commit has the last word.
func (s *session) deliver(answered *bytes.Buffer, last map[byte]int, held *answer) error {
	if held == nil || held.instead.Severity == "" {
		_, err := s.client.Write(answered.Bytes())
		return err
	}
	_, refused := last[errorKind]
	if begin, found := last[held.replaced]; found && !refused {
		answered.Truncate(begin)
		answered.Write(held.instead.messages())
	}
	if _, err := s.client.Write(answered.Bytes()); err != nil || held.instead.ends() {
		return errors.Join(errCut, err)
	}
	return nil
}

// await reports that the answer is there, and then whether it is to be delivered.
func (s *session) await(held *answer) bool {
	close(held.arrived)
	select {
	case <-held.deliver:
		return true
	case <-s.ended:
		return false
	}
}
