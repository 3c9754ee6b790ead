package idemcheck

import (
	"strings"
	"time"
)

func triesOfLives() map[string]func(*trial) error {
	return map[string]func(*trial) error{
		"expiry/kept": func(t *trial) error {
			return t.repeat(t.message(1), t.message(1), time.Duration(t.Description.Key.Lifetime)/2)
		},
		"expiry/after": (*trial).expired,
		"body/chunked": func(t *trial) error { return t.repeat(t.message(1).inChunks(), t.message(1), 0) },
		"body/large":   (*trial).largeBodies,
	}
}

func (t *trial) expired() error {
	m := t.message(1)
	if _, err := t.first(m); err != nil {
		return err
	}
	if err := t.pause(2 * time.Duration(t.Description.Key.Lifetime)); err != nil {
		return err
	}
	if got := t.settle(m); !got.ok() {
		return failure("it was answered %s", got)
	}
	return t.wantEffects(m, 2)
}

func (t *trial) largeBodies() error {
	long := strings.Repeat("x", largeBody)
	m := t.message(1).filled(long + "a")
	first, err := t.first(m)
	if err != nil {
		return err
	}
	if _, err := t.retried(m); err != nil {
		return err
	}
	return t.mismatch(m, m, first, t.send(m.filled(long+"b")))
}

// largeBody is the size of a large body, within what most APIs accept.
const largeBody = 1 << 20
