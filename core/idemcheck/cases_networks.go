package idemcheck

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

func triesOfNetworks() map[string]func(*trial) error {
	whole := func(text []byte) []byte { return text }
	return map[string]func(*trial) error{
		"lost/request":      func(t *trial) error { return t.lost("drop_before") },
		"lost/answer":       func(t *trial) error { return t.lost("drop_after") },
		"lost/reset":        func(t *trial) error { return t.lost("reset_after") },
		"lost/half-answer":  func(t *trial) error { return t.lost("cut") },
		"lost/late":         func(t *trial) error { return t.lost("late") },
		"lost/duplicate":    func(t *trial) error { return t.lost("duplicate") },
		"lost/half-request": (*trial).halfRequest,
		"lost/half-close": func(t *trial) error {
			t.wire(t.message(1), whole, true, true)
			_, err := t.retried(t.message(1))
			return err
		},
		"lost/client-gone": func(t *trial) error {
			m := t.longest()
			t.wire(m, whole, false, false)
			if err := t.pause(underWay / 2); err != nil { // The server has read the request by then.
				return err
			}
			_, err := t.retried(m)
			return err
		},
		"lost/storm":        (*trial).storm,
		"restart/in-flight": (*trial).restartInFlight,
	}
}

// longest is the request that takes longest.
func (t *trial) longest() message {
	if t.Description.Slow == nil {
		return t.message(1)
	}
	return t.message(1).with(*t.Description.Slow)
}

// lost sends a message through a fault, and again until it succeeds.
func (t *trial) lost(fault string) error {
	m := t.message(1)
	proxy := StartProxy(t.target, false, Faults()[fault])
	defer proxy.Close()
	ctx, cancel := context.WithTimeout(t.ctx, giveUp)
	defer cancel()
	t.saw(m, t.exchangeBy(ctx, t.client, m.to(proxy.URL+t.prefix).alone()))
	_, err := t.retried(m)
	return err
}

// giveUp is how long a client waits for an answer that does not come.
const giveUp = 2 * time.Second

func (t *trial) halfRequest() error {
	m := t.message(1)
	if *m.Body == "" {
		return unjudged("the request has no body")
	}
	half := func(text []byte) []byte {
		body := bytes.Index(text, []byte("\r\n\r\n")) + 4
		return text[:body+(len(text)-body)/2]
	}
	t.wire(m, half, false, false)
	// A server that does not know that the request is over does it only now.
	if err := t.pause(underWay); err != nil {
		return err
	}
	if err := t.wantNothing(m); err != nil {
		return err
	}
	_, err := t.retried(m)
	return err
}

// The clients of a storm, and how often each of them tries.
const (
	clients      = 20
	blindRetries = 12
)

func (t *trial) storm() error {
	faults := []string{
		"drop_before", "reset_before", "drop_after", "reset_after", "cut", "duplicate", "delay", "late", "drop_after",
		"buffer", "buffer", "buffer",
	}
	random := rand.New(rand.NewPCG(t.Seed, clients)) //nolint:gosec // it has to be repeatable, and no secret
	var mu sync.Mutex
	proxy := StartProxy(t.target, false, func(p *Passage) {
		mu.Lock()
		fault := faults[random.IntN(len(faults))]
		mu.Unlock()
		Faults()[fault](p)
	})
	defer proxy.Close()
	var group sync.WaitGroup
	var broken atomic.Pointer[error]
	for i := range clients {
		group.Go(func() {
			if err := t.retryBlindly(t.message(i), proxy.URL); err != nil {
				broken.Store(&err)
			}
		})
	}
	group.Wait()
	if err := broken.Load(); err != nil {
		return *err
	}
	return nil
}

// retryBlindly tries through the proxy until a try succeeds, and then once more without it.
func (t *trial) retryBlindly(m message, through string) error {
	for range blindRetries - 2 {
		ctx, cancel := context.WithTimeout(t.ctx, giveUp)
		got := t.exchangeBy(ctx, t.client, m.to(through+t.prefix).alone())
		cancel()
		t.saw(m, got)
		if got.ok() {
			break
		}
		if got.refused() && !got.busy() {
			return failure("a retry of %s was answered %s", m.values.ref, got)
		}
	}
	if _, err := t.retried(m); err != nil {
		return fmt.Errorf("%s: %w", m.values.ref, err)
	}
	return nil
}

func (t *trial) restartInFlight() error {
	m := t.longest()
	done := make(chan answer, 1)
	go func() { done <- t.send(m.alone()) }()
	if err := t.pause(underWay / 2); err != nil {
		return err
	}
	err := t.restart()
	<-done
	if err != nil {
		return err
	}
	_, err = t.retried(m)
	return err
}
