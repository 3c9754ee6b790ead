package coretest

import (
	"context"
	"errors"
	"os"
	"testing"
)

func TestTemplate(t *testing.T) {
	t.Parallel()

	t.Run("IsFilledOnceForAllCopies", func(t *testing.T) {
		t.Parallel()
		filled := 0
		template := NewTemplate(func(ctx context.Context, address string) (int, error) {
			filled++
			return filled, execute(ctx, address, "CREATE TABLE filled AS SELECT 7 AS n")
		})
		for range 2 {
			address, about := template.DatabaseURL(t)
			conn := connect(t, address)
			// A copy with another row of an earlier test would have two.
			if _, err := conn.Exec(t.Context(), "INSERT INTO filled VALUES (8)"); err != nil {
				t.Fatalf("insert: %v", err)
			}
			var rows int
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM filled").Scan(&rows); err != nil {
				t.Fatalf("count rows: %v", err)
			}
			if rows != 2 || about != 1 {
				t.Errorf("rows = %d, filled %d times, want 2 rows and once", rows, about)
			}
		}
	})

	t.Run("IsFilledAgainAfterAFailure", func(t *testing.T) {
		t.Parallel()
		failure := errors.New("not yet")
		template := NewTemplate(func(context.Context, string) (string, error) { return "whole", failure })
		server := os.Getenv(DatabaseVariable)
		if _, err := template.on(t.Context(), server); !errors.Is(err, failure) {
			t.Errorf("fill = %v, want %v", err, failure)
		}
		failure = nil
		if _, about := template.DatabaseURL(t); about != "whole" {
			t.Errorf("about = %q, want whole", about)
		}
	})

	t.Run("IsDropped", func(t *testing.T) {
		t.Parallel()
		server := os.Getenv(DatabaseVariable)
		const name = "filled_to_be_dropped"
		if err := execute(t.Context(), server, "CREATE DATABASE "+quote(name)); err != nil {
			t.Fatalf("create: %v", err)
		}
		var list templates
		list.add(server, name)
		if err := list.drop(t.Context(), server); err != nil {
			t.Fatalf("drop: %v", err)
		}
		if found, err := isDatabase(t.Context(), connect(t, server), name); found || err != nil {
			t.Errorf("database exists = %t, %v; want false", found, err)
		}
	})
}

func TestPrepareHasNoTimeout(t *testing.T) {
	t.Parallel()
	Prepare(t, DatabaseURL(t), `DO $$ BEGIN
		IF current_setting('statement_timeout') <> '0' OR current_setting('lock_timeout') <> '0' THEN
			RAISE 'a preparation has a timeout';
		END IF;
	END $$`)
}
