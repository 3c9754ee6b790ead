package idemcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
)

// errUncounted is for cases that need effects counted, where the description does not say how.
var errUncounted = unjudged("the description does not say how effects are counted")

// count counts the effects of requests like the message.
func (t *trial) count(m message) (int, error) {
	if err := t.pause(time.Duration(t.Description.Effects.Wait)); err != nil {
		return 0, err
	}
	effects := t.Description.Effects
	var n int
	var err error
	switch {
	case effects.URL != "":
		n, err = t.countByRequest(m)
	case effects.Command != "":
		var printed string
		if printed, err = t.shell(t.ctx, m.values.fill(effects.Command)); err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(printed))
		}
	case effects.SQL != "":
		n, err = t.countInDatabase(m)
	case effects.Answer != nil:
		n = t.countAnswers(m)
	default:
		return 0, errUncounted
	}
	if err != nil {
		return 0, unjudged("effects could not be counted: %v", err)
	}
	t.note("%s of %s", core.Plural(n, "effect"), m.values.ref)
	return n, nil
}

func (t *trial) countByRequest(m message) (int, error) {
	effects := t.Description.Effects
	headers := m.Headers
	if effects.Headers != nil {
		headers = effects.Headers
	}
	reading := message{
		Change: Change{Method: http.MethodGet, URL: effects.URL, Headers: headers, Body: new(string)},
		base:   t.target + t.prefix, values: m.values,
	}
	got := t.exchangeBy(t.ctx, t.client, reading)
	switch {
	case got.err != nil:
		return 0, got.err
	case got.status == http.StatusNotFound:
		return 0, nil
	case !got.ok():
		return 0, fmt.Errorf("%s was answered %s", effects.URL, got)
	}
	found, err := point(got.body, effects.Pointer)
	if err != nil {
		return 0, err
	}
	switch found := found.(type) {
	case []any:
		return len(found), nil
	case json.Number:
		return strconv.Atoi(found.String())
	case nil:
		return 0, nil
	default:
		return 0, fmt.Errorf("%q of the answer of %s is neither a list nor a number", effects.Pointer, effects.URL)
	}
}

func (t *trial) countInDatabase(m message) (int, error) {
	settings, err := pgx.ParseConfig(expand(t.Description.Effects.Database, t.Lookup))
	if err != nil {
		return 0, err
	}
	settings.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // There may be a pooler.
	conn, err := pgx.ConnectConfig(t.ctx, settings)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(t.ctx))
	var n int
	err = conn.QueryRow(t.ctx, m.values.fill(t.Description.Effects.SQL)).Scan(&n)
	return n, err
}

// countAnswers counts the values that stand for effects in the answers of requests about the same.
func (t *trial) countAnswers(m message) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.shown[m.values.ref])
}

// remember keeps the value of an answer that stands for its effect.
func (t *trial) remember(m message, got answer) {
	pointer := t.Description.Effects.Answer
	if pointer == nil || !got.ok() || m.Method == http.MethodGet {
		return
	}
	found, err := point(got.body, *pointer)
	if err != nil || found == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown[m.values.ref] == nil {
		t.shown[m.values.ref] = make(map[string]bool)
	}
	t.shown[m.values.ref][fmt.Sprint(found)] = true
}

// shell runs a command and returns what it has printed.
func (c *Checker) shell(ctx context.Context, command string) (string, error) {
	printed, err := exec.CommandContext(ctx, "sh", "-c", command).Output() //nolint:gosec // the user's own command
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w: %s", command, err, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(printed), err
}

// point finds the value of a JSON pointer (RFC 6901). It is nil where there is none.
func point(text []byte, pointer string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var at any
	if err := decoder.Decode(&at); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	if pointer == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch parent := at.(type) {
		case map[string]any:
			at = parent[name]
		case []any:
			i, err := strconv.Atoi(name)
			at = nil
			if err == nil && i >= 0 && i < len(parent) {
				at = parent[i]
			}
		default:
			at = nil
		}
	}
	return at, nil
}
