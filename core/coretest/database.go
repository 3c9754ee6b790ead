package coretest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // The driver that migrations run through.

	"github.com/simplevalidations/simplevalidations/migrations"
)

// templateLock keeps parallel packages from making the same template. The number only has to be of this purpose.
const templateLock = 7120531964

// DatabaseURL returns the address of a new database with all migrations applied, for this test alone. It is dropped
// at the test's end, together with the connections that are still open.
func DatabaseURL(tb testing.TB) string {
	tb.Helper()
	server := serverURL(tb)
	template, err := migratedTemplate(tb.Context(), server)
	if err != nil {
		tb.Fatalf("make template database: %v", err)
	}
	return copyOf(tb, server, template)
}

// EmptyDatabaseURL returns the address of a new database without any table, which is dropped at the test's end.
func EmptyDatabaseURL(tb testing.TB) string {
	tb.Helper()
	return copyOf(tb, serverURL(tb), "template1")
}

func serverURL(tb testing.TB) string {
	tb.Helper()
	server := os.Getenv(DatabaseVariable)
	if server == "" {
		tb.Fatalf("no database server: call coretest.Main from TestMain, or set %s", DatabaseVariable)
	}
	return server
}

// copyOf makes a database from a template and drops it at the test's end.
func copyOf(tb testing.TB, server, template string) string {
	tb.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	if err := execute(tb.Context(), server, createCopy(name, template)); err != nil {
		tb.Fatalf("create database: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), Patience)
		defer cancel()
		if err := execute(ctx, server, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)"); err != nil {
			tb.Errorf("drop database: %v", err)
		}
	})
	address, err := databaseOn(server, name)
	if err != nil {
		tb.Fatalf("address of database: %v", err)
	}
	return address
}

// createCopy copies files, which takes the server half the processor time of a copy through its log.
func createCopy(name, template string) string {
	return "CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(template) + " STRATEGY file_copy"
}

// migratedTemplate returns the name of the database with all migrations applied, after making it where it is missing.
func migratedTemplate(ctx context.Context, server string) (string, error) {
	template, err := templateName(migrations.FS)
	if err != nil {
		return "", err
	}
	return template, ensureTemplate(ctx, server, template)
}

// templateName changes with every change of a migration, so that a server that is shared or lives long never offers
// an outdated schema.
func templateName(files fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(sum, "%q %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read migrations: %w", err)
	}
	return fmt.Sprintf("template_%x", sum.Sum(nil)[:8]), nil
}

func ensureTemplate(ctx context.Context, server, template string) error {
	return connected(ctx, server, func(conn *pgx.Conn) error {
		if found, err := isDatabase(ctx, conn, template); found || err != nil {
			return err
		}
		// The lock ends with the connection.
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(templateLock)); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if found, err := isDatabase(ctx, conn, template); found || err != nil {
			return err
		}
		return makeTemplate(ctx, conn, server, template)
	})
}

// makeTemplate gives the database its name when it is whole, as a killed process must not leave half a template.
func makeTemplate(ctx context.Context, conn *pgx.Conn, server, template string) error {
	half := template + "_half"
	address, err := databaseOn(server, half)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + quote(half) + " WITH (FORCE)",
		"CREATE DATABASE " + quote(half),
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	if err := migrate(ctx, address); err != nil {
		return err
	}
	for _, statement := range []string{
		// A database with open connections cannot be copied.
		"ALTER DATABASE " + quote(half) + " WITH ALLOW_CONNECTIONS false",
		"ALTER DATABASE " + quote(half) + " RENAME TO " + quote(template),
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func migrate(ctx context.Context, address string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	_, err = migrations.Up(ctx, db, slog.New(slog.DiscardHandler))
	return errors.Join(err, db.Close())
}

func isDatabase(ctx context.Context, conn *pgx.Conn, name string) (bool, error) {
	var found bool
	const query = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
	if err := conn.QueryRow(ctx, query, name).Scan(&found); err != nil {
		return false, fmt.Errorf("look for database %s: %w", name, err)
	}
	return found, nil
}

func execute(ctx context.Context, address, statement string) error {
	return connected(ctx, address, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

func connected(ctx context.Context, address string, use func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return errors.Join(use(conn), conn.Close(context.WithoutCancel(ctx)))
}

func databaseOn(server, name string) (string, error) {
	address, err := url.Parse(server)
	if err != nil || !strings.HasPrefix(address.Scheme, "postgres") {
		return "", fmt.Errorf("%s has to be an address such as postgres://user@host/database", DatabaseVariable)
	}
	address.Path = "/" + name
	return address.String(), nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
