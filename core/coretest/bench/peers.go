package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/docs"
)

// peerFolder, below the root of the module, has the programs that the service is compared with.
const peerFolder = "config/peers"

// startPeer builds a program and starts it with the variables. The program and its log go to the folder.
func startPeer(ctx context.Context, name, dir string, variables ...string) (*process, string, error) {
	root, err := coretest.Root()
	if err != nil {
		return nil, "", err
	}
	binary := filepath.Join(dir, "peer-"+name)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	build.Dir = filepath.Join(root, peerFolder, name)
	if output, err := build.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("build %s: %w: %s", name, err, output)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, "", err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), binary)
	cmd.Env = slices.Concat(os.Environ(), []string{"ADDRESS=" + address}, variables)
	server, err := startProcess(ctx, cmd, binary+".log", func(ctx context.Context) bool {
		return coretest.Answers(ctx, "http://"+address+"/livez/")
	})
	return server, address, err
}

// river is the service that a Go user would build on River, with the same organizations in a schema of its own.
type river struct {
	server  *process
	address string
	db      *pgx.Conn
	tenants []tenant
}

const (
	riverSchema = "river"
	dropRiver   = "DROP SCHEMA IF EXISTS " + riverSchema + " CASCADE"
)

// startRiver starts the service, which makes its tables anew, and each organization's first run. It executes none
// without workers.
func startRiver(ctx context.Context, databaseURL, dir string, works bool) (*river, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("read the address of PostgreSQL: %w", err)
	}
	step, err := docs.Sample(tableStep)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["search_path"] = riverSchema
	r := new(river)
	if r.tenants, err = newTenants(); err != nil {
		return nil, err
	}
	if r.db, err = pgx.ConnectConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	variables := []string{
		"PGHOST=" + config.Host, "PGPORT=" + strconv.Itoa(int(config.Port)), "PGUSER=" + config.User,
		"PGPASSWORD=" + config.Password, "PGDATABASE=" + config.Database, "PGOPTIONS=-c search_path=" + riverSchema,
		"STEP=" + string(step),
	}
	if works {
		variables = append(variables, "WORKERS=1")
	}
	// A benchmark that was killed may have left its tables.
	_, err = r.db.Exec(ctx, dropRiver+"; CREATE SCHEMA "+riverSchema)
	if err == nil {
		r.server, r.address, err = startPeer(ctx, "river", dir, variables...)
	}
	if err == nil {
		err = prime(ctx, r.address, r.tenants)
	}
	if err == nil {
		err = analyze(ctx, r.db)
	}
	if err != nil {
		return nil, errors.Join(err, r.stop(ctx))
	}
	return r, nil
}

// stop ends the program and removes its tables. It works also when ctx has ended.
func (r *river) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWorldLimit)
	defer cancel()
	var err error
	if r.server != nil {
		err = r.server.stop()
	}
	_, dropped := r.db.Exec(ctx, dropRiver)
	return errors.Join(err, dropped, r.db.Close(ctx))
}

// startEcho starts the bare handler, frozen, with one answer of the service for all organizations.
func (c *course) startEcho(ctx context.Context) (system, error) {
	file := filepath.Join(c.world.dir, "answer.http")
	if err := c.saveReplay(ctx, file); err != nil {
		return system{}, err
	}
	server, address, err := startPeer(ctx, "echo", c.world.dir, "ANSWER="+file)
	if err != nil {
		return system{}, err
	}
	s := system{laneBare, []*process{server}, c.service()}
	s.load.address, s.load.meter.services = address, []int{server.pid()}
	s.load.tenants = slices.Clone(c.world.tenants)
	for i := range s.load.tenants {
		s.load.tenants[i].first = c.world.tenants[0].first
	}
	return s, server.freeze()
}

// saveReplay writes an answer of the service to the file, with all its headers.
func (c *course) saveReplay(ctx context.Context, file string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.world.address)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	var replay bytes.Buffer
	first := c.world.tenants[0]
	kept := &client{conn: conn, reader: bufio.NewReader(io.TeeReader(conn, &replay))}
	if err := first.replay(kept); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if err := os.WriteFile(file, replay.Bytes(), 0o600); err != nil {
		return fmt.Errorf("save the answer: %w", err)
	}
	return nil
}
