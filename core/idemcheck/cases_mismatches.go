package idemcheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

func triesOfMismatches() map[string]func(*trial) error {
	all := map[string]func(*trial) error{
		"mismatch/body": func(t *trial) error { return t.mismatches("body", t.mismatch) },
		"mismatch/status": func(t *trial) error {
			return t.mismatches("body", func(_, _ message, _, got answer) error {
				if got.status != http.StatusUnprocessableEntity {
					return failure("it was answered %s", got)
				}
				return nil
			})
		},
		"mismatch/kept": (*trial).mismatchKept,
		"same/effect": func(t *trial) error {
			return t.respells(func(m message, _, _ answer) error { return t.wantEffects(m, 1) })
		},
		"same/replay": func(t *trial) error {
			return t.respells(func(_ message, first, again answer) error {
				if !again.ok() || !again.like(first) {
					return failure("it was answered %s", again)
				}
				return nil
			})
		},
	}
	for _, kind := range []string{"path", "query", "method", "type"} {
		all["mismatch/"+kind] = func(t *trial) error {
			return t.mismatches(kind, func(_, _ message, first, got answer) error {
				if t.replays(got, first) {
					return failure("it was answered as the first request: %s", got)
				}
				return nil
			})
		}
	}
	return all
}

// changed are the different requests of a kind.
func (d *Description) changed(kind string) []Change {
	return slices.DeleteFunc(slices.Clone(d.Different), func(c Change) bool { return c.kind(d.Request) != kind })
}

// mismatches sends each different request of the kind with the key of a first one.
func (t *trial) mismatches(kind string, judge func(one, other message, first, got answer) error) error {
	for i, change := range t.Description.changed(kind) {
		one := t.message(i)
		first, err := t.first(one)
		if err != nil {
			return err
		}
		other := one.with(change)
		if err := judge(one, other, first, t.send(other)); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) mismatch(one, _ message, first, got answer) error {
	switch {
	case got.repeats(first):
		return failure("another request got the answer of the first one: %s", got)
	case got.ok():
		return failure("another request was done under the same key: %s", got)
	case !got.refused():
		return failure("another request was answered %s", got)
	}
	return counted(t.wantEffects(one, 1))
}

func (t *trial) mismatchKept() error {
	return t.mismatches("body", func(one, other message, first, _ answer) error {
		// A second attempt, because some APIs count refusals against the key.
		t.send(other)
		again, err := t.retried(one)
		if err == nil && !again.like(first) {
			err = failure("the first request is answered %s now, and was %s", again, first)
		}
		return err
	})
}

// respells sends each other spelling of a request with the key of the first one.
func (t *trial) respells(judge func(m message, first, again answer) error) error {
	for i, change := range t.Description.spellings() {
		m := t.message(i)
		first, err := t.first(m)
		if err != nil {
			return err
		}
		if err := judge(m, first, t.send(m.with(change))); err != nil {
			return fmt.Errorf("as %s: %w", *m.with(change).Body, err)
		}
	}
	return nil
}

// spellings are the requests that mean the same: those of the description and those that JSON allows.
func (d *Description) spellings() []Change {
	changes := slices.Clone(d.Same)
	for _, text := range respelled(*d.Request.Body) {
		changes = append(changes, Change{Body: &text})
	}
	return changes
}

// respelled are other spellings of a JSON object: with its members in another order, with white space, and with an
// escape. There are none of what is no object.
func respelled(body string) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &members) != nil || len(members) == 0 || members[""] != nil {
		return nil
	}
	write := func(names []string, colon, comma string) string {
		parts := make([]string, 0, len(names))
		for _, name := range names {
			parts = append(parts, fmt.Sprintf("%q%s%s", name, colon, members[name]))
		}
		return "{" + strings.Join(parts, comma) + "}"
	}
	names := slices.Sorted(maps.Keys(members))
	spaced := write(names, " : ", " ,\n  ")
	slices.Reverse(names)
	escaped := write(names, ":", ",")
	if c := names[0][0]; c >= 'A' && c <= 'z' && c != '\\' {
		escaped = strings.Replace(escaped, `{"`+string(c), fmt.Sprintf(`{"\u%04x`, c), 1)
	}
	return []string{write(names, ":", ","), spaced, escaped}
}
