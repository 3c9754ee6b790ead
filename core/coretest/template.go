package coretest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Template is a migrated database that is filled once, when a test first asks for a copy of it. Each copy saves a test
// what the filling takes.
type Template[T any] struct {
	fill func(ctx context.Context, address string) (T, error)

	mu sync.Mutex // guards filled
	// filled has the copies by the address of their server: a test may run on a server of its own.
	filled map[string]filledTemplate[T]
}

type filledTemplate[T any] struct {
	name  string
	about T
}

// NewTemplate returns a template that fill writes to. The tests get what fill returns along with their copies.
func NewTemplate[T any](fill func(ctx context.Context, address string) (T, error)) *Template[T] {
	return &Template[T]{fill: fill, filled: make(map[string]filledTemplate[T])}
}

// DatabaseURL returns the address of a copy for this test alone, which is dropped at the test's end.
func (f *Template[T]) DatabaseURL(tb testing.TB) (string, T) {
	tb.Helper()
	server := serverURL(tb)
	template, err := f.on(tb.Context(), server)
	if err != nil {
		tb.Fatalf("fill template database: %v", err)
	}
	return copyOf(tb, server, template.name), template.about
}

// on returns the template of a server, and fills it where that was not done yet.
func (f *Template[T]) on(ctx context.Context, server string) (filledTemplate[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if template, ok := f.filled[server]; ok {
		return template, nil
	}
	var none filledTemplate[T]
	migrated, err := migratedTemplate(ctx, server)
	if err != nil {
		return none, err
	}
	template := filledTemplate[T]{name: "filled_" + strings.ToLower(rand.Text())}
	if err := execute(ctx, server, createCopy(template.name, migrated)); err != nil {
		return none, err
	}
	made.add(server, template.name)
	address, err := databaseOn(server, template.name)
	if err != nil {
		return none, err
	}
	if template.about, err = f.fill(ctx, address); err != nil {
		return none, err
	}
	f.filled[server] = template
	return template, nil
}

// made lists the templates of this process, which Main drops at its end: other packages may use the server for longer.
var made templates

type templates struct {
	mu sync.Mutex
	// names are those of each server.
	names map[string][]string
}

func (t *templates) add(server, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = make(map[string][]string)
	}
	t.names[server] = append(t.names[server], name)
}

// DropTemplates drops what the tests of this process have filled. Each TestMain that does not end in Main calls it.
func DropTemplates(ctx context.Context) error { return made.drop(ctx, os.Getenv(DatabaseVariable)) }

func (t *templates) drop(ctx context.Context, server string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var failures []error
	for _, name := range t.names[server] {
		failures = append(failures, execute(ctx, server, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)"))
	}
	delete(t.names, server)
	return errors.Join(failures...)
}

// Prepare executes a statement on a connection of its own, to which none of the product's timeouts apply: filling a
// table takes as long as it takes on a busy machine.
func Prepare(tb testing.TB, address, statement string, args ...any) {
	tb.Helper()
	if err := connected(tb.Context(), address, func(conn *pgx.Conn) error {
		_, err := conn.Exec(tb.Context(), statement, args...)
		return err
	}); err != nil {
		tb.Fatal(fmt.Errorf("%s: %w", statement, err))
	}
}
