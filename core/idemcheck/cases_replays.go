package idemcheck

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

func triesOfReplays() map[string]func(*trial) error {
	return map[string]func(*trial) error{
		"replay/effect":     (*trial).replayEffect,
		"replay/status":     replayed(func(first, again answer) bool { return first.status == again.status }),
		"replay/body":       replayed(answer.like),
		"replay/bytes":      replayed(func(first, again answer) bool { return bytes.Equal(first.body, again.body) }),
		"replay/headers":    replayed(func(first, again answer) bool { return first.headers() == again.headers() }),
		"replay/marked":     replayed(func(first, again answer) bool { return again.marks(first) }),
		"replay/connection": func(t *trial) error { return t.repeat(t.message(1).alone(), t.message(1).alone(), 0) },
		"replay/http2":      (*trial).replayHTTP2,
		"replay/process": func(t *trial) error {
			return t.repeat(t.message(1), t.message(1).to(expand(t.Description.Also, t.Lookup)), 0)
		},
		"replay/later": func(t *trial) error {
			return t.repeat(t.message(1), t.message(1), time.Duration(t.Description.Limits.Later))
		},
		"replay/restart": (*trial).replayRestart,
	}
}

// repeat sends a message and demands that the other one, after a pause, is taken for its retry.
func (t *trial) repeat(m, again message, after time.Duration) error {
	if _, err := t.first(m); err != nil {
		return err
	}
	if err := t.pause(after); err != nil {
		return err
	}
	_, err := t.retried(again)
	return err
}

// replayed sends a message twice and compares the answers.
func replayed(holds func(first, again answer) bool) func(*trial) error {
	return func(t *trial) error {
		m := t.message(1)
		first, err := t.first(m)
		if err != nil {
			return err
		}
		again := t.settle(m)
		switch {
		case !again.ok():
			return failure("the second answer was %s", again)
		case !holds(first, again):
			return failure("the answers were %s and %s with %s and %s", first, again, first.headers(), again.headers())
		}
		return nil
	}
}

// headers are those that a replay has to repeat.
func (a answer) headers() string {
	return fmt.Sprintf("Content-Type %q and Location %q", a.header.Get("Content-Type"), a.header.Get("Location"))
}

func (t *trial) replayRestart() error {
	m := t.message(1)
	first, err := t.first(m)
	if err != nil {
		return err
	}
	if err := t.restart(); err != nil {
		return err
	}
	again, err := t.retried(m)
	if err == nil && !again.like(first) {
		err = failure("the answer was %s and is %s", first, again)
	}
	return err
}

// restart kills the API and starts it again.
func (t *trial) restart() error {
	if _, err := t.shell(t.ctx, t.Description.Hooks.Restart); err != nil {
		return unjudged("hooks.restart has failed: %v", err)
	}
	return nil
}

func (t *trial) replayEffect() error {
	m := t.message(1)
	if _, err := t.first(m); err != nil {
		return err
	}
	for range 3 {
		if again := t.settle(m); !again.ok() {
			return failure("a retry was answered %s", again)
		}
	}
	_, err := t.retried(m)
	return err
}

// replayHTTP2 begins with HTTP/1.1.
func (t *trial) replayHTTP2() error {
	m := t.message(1)
	if _, err := t.first(m); err != nil {
		return err
	}
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	again := t.sendBy(clientOf(transport), m)
	switch {
	case again.err != nil, again.status == http.StatusHTTPVersionNotSupported:
		return unjudged("the API does not speak HTTP/2: %s", again)
	case !again.ok():
		return failure("the retry over HTTP/2 was answered %s", again)
	}
	return t.wantEffects(m, 1)
}
