package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/docs"
)

const (
	// peerFolder, below the root of the module, has the programs and the tables that they share.
	peerFolder = "config/peers"
	// peerSchema is where their tables are, apart from those of the service.
	peerSchema = "peers"
	dropPeers  = "DROP SCHEMA IF EXISTS " + peerSchema + " CASCADE;"
	// earlierKeys are those that each organization has used before.
	earlierKeys = 10
)

// program is one that runs, and its organizations.
type program struct {
	server  *process
	address string
	db      *pgx.Conn
	tenants []tenant
}

// startProgram makes the tables anew and starts the program. Its files and its log go to the folder.
func startProgram(ctx context.Context, o peer, databaseURL, dir string) (*program, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("read the address of PostgreSQL: %w", err)
	}
	config.RuntimeParams["search_path"] = peerSchema
	tenants, err := newTenants()
	if err != nil {
		return nil, err
	}
	db, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	p := &program{db: db, tenants: tenants}
	if err := seedPeer(ctx, db); err != nil {
		return nil, errors.Join(err, p.stop(ctx))
	}
	if err := p.serve(ctx, o, config, dir); err != nil {
		return nil, errors.Join(err, p.stop(ctx))
	}
	return p, nil
}

func (p *program) serve(ctx context.Context, o peer, config *pgx.ConnConfig, dir string) error {
	home, err := o.install(ctx, dir)
	if err != nil {
		return err
	}
	if p.address, err = freeAddress(ctx); err != nil {
		return err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), o.command[0], o.command[1:]...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "ADDRESS="+p.address, "PGHOST="+config.Host,
		"PGPORT="+strconv.Itoa(int(config.Port)), "PGUSER="+config.User, "PGPASSWORD="+config.Password,
		"PGDATABASE="+config.Database, "PGOPTIONS=-c search_path="+peerSchema)
	cmd.Env = append(cmd.Env, o.variables...)
	if p.server, err = startProcess(cmd, filepath.Join(dir, o.folder+".log")); err != nil {
		return err
	}
	return p.server.await(ctx, func(ctx context.Context) bool {
		return coretest.Answers(ctx, "http://"+p.address+"/livez/")
	})
}

// install puts the program in a folder of its own, where it may write, and returns the folder.
func (o peer) install(ctx context.Context, dir string) (string, error) {
	source, err := o.source()
	if err != nil {
		return "", err
	}
	home := filepath.Join(dir, o.folder)
	if o.build == nil {
		if err := os.CopyFS(home, os.DirFS(source)); err != nil {
			return "", fmt.Errorf("copy the program: %w", err)
		}
		return home, nil
	}
	if err := os.MkdirAll(home, 0o750); err != nil {
		return "", fmt.Errorf("make folder: %w", err)
	}
	cmd := exec.CommandContext(ctx, o.build[0], slices.Concat(o.build[1:], []string{"-o", home})...)
	cmd.Dir = source
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w: %s", err, output)
	}
	return home, nil
}

// stop ends the program and removes its tables. It works also when ctx has ended.
func (p *program) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWorldLimit)
	defer cancel()
	var failures []error
	if p.server != nil {
		failures = append(failures, p.server.stop())
	}
	_, err := p.db.Exec(ctx, dropPeers)
	return errors.Join(append(failures, err, p.db.Close(ctx))...)
}

// seedPeer makes the tables and fills them with the organizations that the service has as well.
func seedPeer(ctx context.Context, db *pgx.Conn) error {
	root, err := coretest.Root()
	if err != nil {
		return err
	}
	tables, err := os.ReadFile(filepath.Join(root, peerFolder, "schema.sql"))
	if err != nil {
		return fmt.Errorf("read the tables: %w", err)
	}
	config, err := docs.Sample(tableStep)
	if err != nil {
		return err
	}
	// A benchmark that was killed may have left its tables.
	if _, err := db.Exec(ctx, dropPeers+"CREATE SCHEMA "+peerSchema+";"+string(tables)); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO organizations (id)
		SELECT ($1 || lpad(n::text, 12, '0'))::uuid FROM generate_series(1, $2::int) AS n`, orgPrefix, allTenants)
	batch.Queue(`INSERT INTO tokens (digest, org_id, role)
		SELECT sha256(($1 || right(id::text, 12))::bytea), id, 'executor' FROM organizations`, secretPrefix)
	batch.Queue(`INSERT INTO workflows (id, org_id, slug, version, config)
		SELECT ($1 || right(id::text, 12))::uuid, id, 'meter-readings', 1, $2 FROM organizations`,
		workflowPrefix, string(config))
	batch.Queue(`INSERT INTO usage_counters (org_id) SELECT id FROM organizations`)
	// What a service that has run for a while has. A table that is all but empty is read as a whole, and SERIALIZABLE
	// transactions that do so abort each other.
	batch.Queue(`INSERT INTO idempotency_keys (id, org_id, key, endpoint, request_method, request_path,
			request_hash, user_agent, recovery_point, created_at, expires_at)
		SELECT gen_random_uuid(), id, gen_random_uuid(), 'workflow_start', 'POST', '/', '', 'expired', 'finished',
			now(), now()
		FROM organizations, generate_series(1, $1::int)`, earlierKeys)
	if err := db.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	return analyze(ctx, db)
}
