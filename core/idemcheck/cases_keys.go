package idemcheck

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// longestKey is the most characters that a key may have at Stripe and others.
const longestKey = 255

func triesOfKeys() map[string]func(*trial) error {
	return map[string]func(*trial) error{
		"key/quoted":    func(t *trial) error { return t.accepted(t.message(1).key(`"` + t.keyOf(1) + `"`)) },
		"key/bare":      func(t *trial) error { return t.accepted(t.message(1).key(t.keyOf(1))) },
		"key/two-forms": (*trial).twoForms,
		"key/empty": func(t *trial) error {
			return t.twoKeys(t.message(1).key(""), t.message(2).key(""), true)
		},
		"key/empty-refused": func(t *trial) error { return t.refusesKey(t.message(1).key("")) },
		"key/missing":       (*trial).missingKey,
		"key/255":           func(t *trial) error { return t.differInLast(longestKey, false) },
		"key/256":           func(t *trial) error { return t.differInLast(longestKey+1, true) },
		"key/case":          (*trial).lettersDiffer,
		"key/name":          (*trial).nameInLowerCase,
		"key/two-lines":     func(t *trial) error { return t.refusesKey(t.message(1).key(t.keyOf(1), t.keyOf(2))) },
		"key/control":       (*trial).controlCharacters,
		"key/non-ascii":     (*trial).beyondASCII,
	}
}

// accepted demands that a message succeeds, and its retry too.
func (t *trial) accepted(m message) error {
	first := t.settle(m)
	if first.refused() {
		return failure("the key was refused: %s", first)
	}
	if !first.ok() {
		return unjudged("the first request was answered %s", first)
	}
	_, err := t.retried(m)
	return err
}

// refusesKey demands that a message is refused with 400 and does nothing.
func (t *trial) refusesKey(m message) error {
	got := t.send(m)
	if err := t.refusal(m, got); err != nil {
		return err
	}
	if got.status != http.StatusBadRequest {
		return failure("it was refused with %d instead of 400", got.status)
	}
	return nil
}

// refusal demands that an answer is a refusal and that nothing was done.
func (t *trial) refusal(m message, got answer) error {
	switch {
	case got.ok():
		return failure("it was accepted: %s", got)
	case !got.refused():
		return failure("it was answered %s instead of being refused", got)
	}
	return t.wantNothing(m)
}

func (t *trial) twoForms() error {
	bare := t.message(1).key(t.keyOf(1))
	if _, err := t.first(bare); err != nil {
		return err
	}
	_, err := t.retried(bare.key(`"` + t.keyOf(1) + `"`))
	return err
}

// twoKeys demands that two messages are both done, or that their keys are refused if they may be.
func (t *trial) twoKeys(one, two message, mayRefuse bool) error {
	first := t.send(one)
	if first.refused() && mayRefuse {
		return nil
	}
	if !first.ok() {
		return failure("the first key was answered %s", first)
	}
	return t.ownWork(two, t.send(two), first)
}

// ownWork demands that a request was done for itself, and was not taken for the other one.
func (t *trial) ownWork(m message, got, other answer) error {
	if !got.ok() {
		return failure("the other request was answered %s", got)
	}
	err := t.wantEffects(m, 1)
	if errors.Is(err, errUncounted) && t.replays(got, other) {
		return failure("the other request got the answer of the first one: %s", got)
	}
	return err
}

func (t *trial) missingKey() error {
	m := t.message(1).key()
	if t.Description.Key.Required {
		return t.refusesKey(m)
	}
	if first := t.send(m); !first.ok() {
		return failure("a request without a key was answered %s", first)
	}
	if second := t.send(m); !second.ok() {
		return failure("the second request without a key was answered %s", second)
	}
	return t.wantEffects(m, 2)
}

// differInLast sends keys of a length that differ at their end.
func (t *trial) differInLast(length int, mayRefuse bool) error {
	long := strings.Repeat(strings.ReplaceAll(t.keyOf(1), "-", ""), longestKey)[:length-1]
	return t.twoKeys(t.keyed(t.message(1), long+"a"), t.keyed(t.message(2), long+"b"), mayRefuse)
}

func (t *trial) lettersDiffer() error {
	one := t.keyed(t.message(1), "a"+t.keyOf(1))
	two := t.keyed(t.message(2), "A"+t.keyOf(1))
	first, err := t.first(one)
	if err != nil {
		return err
	}
	return t.ownWork(two, t.send(two), first)
}

func (t *trial) nameInLowerCase() error {
	m, name := t.message(1), http.CanonicalHeaderKey(t.header)+":"
	if _, err := t.first(m); err != nil {
		return err
	}
	got := t.wire(m, func(text []byte) []byte {
		return bytes.Replace(text, []byte(name), []byte(strings.ToLower(name)), 1)
	}, true, false)
	if !got.ok() {
		return failure("it was answered %s", got)
	}
	return t.wantEffects(m, 1)
}

// controlCharacters sends what no honest HTTP library sends.
func (t *trial) controlCharacters() error {
	header := http.CanonicalHeaderKey(t.header) + ": "
	for i, sent := range []string{"a\x00b", "a\x07b", "a\x7fb", "a\rb", "\"a\x07\""} {
		m := t.message(i).key("line")
		got := t.wire(m, func(text []byte) []byte {
			return bytes.Replace(text, []byte(header+"line"), []byte(header+sent), 1)
		}, true, false)
		if err := t.refusal(m, got); err != nil {
			return fmt.Errorf("%q: %w", sent, err)
		}
	}
	return nil
}

func (t *trial) beyondASCII() error {
	m := t.keyed(t.message(1), "ü"+t.keyOf(1))
	first := t.send(m)
	if first.refused() {
		return nil
	}
	if !first.ok() {
		return failure("it was answered %s", first)
	}
	_, err := t.retried(m)
	return err
}
