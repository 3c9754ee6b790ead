package main

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/migrations"
)

// seedScript makes the organizations, each with a token, a workflow and no limit on its runs.
//
//go:embed seed.sql
var seedScript string

const (
	// manyTenants organizations share the load in one half of the measurements; the one behind them carries it alone in
	// the other half.
	manyTenants = 1000
	allTenants  = manyTenants + 1

	// These are as in the script.
	orgPrefix      = "00000000-0000-7000-8000-"
	workflowPrefix = "00000000-0000-7000-9000-"
	secretPrefix   = "sv_bench-"

	tableStep  = "schemas/meter-readings.table-step.json"
	document   = "good/meter-readings.csv"
	definition = `{"accepts":["text/csv"],"steps":[{"id":"table","name":"Table","type":"table","config":%s,` +
		`"continue_on_failure":false}]}`
)

func seed(ctx context.Context, db *pgx.Conn) error {
	config, err := docs.Sample(tableStep)
	if err != nil {
		return err
	}
	body := fmt.Sprintf(definition, config)
	if _, err := db.Exec(ctx, "SELECT set_config('bench.definition', $1, false)", body); err != nil {
		return fmt.Errorf("pass the definition: %w", err)
	}
	if _, err := db.Exec(ctx, seedScript); err != nil {
		return fmt.Errorf("fill tables: %w", err)
	}
	return nil
}

// newDatabase makes a database with the tables and the organizations of the service, and returns its address.
func newDatabase(ctx context.Context, w *world, name string) (*pgx.Conn, string, error) {
	if _, err := w.db.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, "", fmt.Errorf("create the database %s: %w", name, err)
	}
	address, err := url.Parse(w.postgres.URL())
	if err != nil {
		return nil, "", fmt.Errorf("read the address of PostgreSQL: %w", err)
	}
	address.Path = "/" + name
	config, err := pgx.ParseConfig(address.String())
	if err != nil {
		return nil, "", fmt.Errorf("read the address of PostgreSQL: %w", err)
	}
	connections := stdlib.OpenDB(*config)
	defer connections.Close()
	if _, err := migrations.Up(ctx, connections, slog.New(slog.DiscardHandler)); err != nil {
		return nil, "", fmt.Errorf("make the tables of %s: %w", name, err)
	}
	db, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, "", fmt.Errorf("connect: %w", err)
	}
	return db, address.String(), seed(ctx, db)
}

// numbered is the end of an organization's ids and token.
func numbered(number int) string { return fmt.Sprintf("%012d", number) }

func orgID(number int) string { return orgPrefix + numbered(number) }

func startPath(number int) string {
	return "/api/workflows/" + workflowPrefix + numbered(number) + "/start/"
}
