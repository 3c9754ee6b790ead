package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const (
	maxConns = 20
	// As many workers as in River's documentation; its default pause between two fetches would bound them to 1,000 jobs
	// a second.
	maxWorkers    = 100
	fetchCooldown = 5 * time.Millisecond
	endpoint      = "workflow_start"
	keyLifetime   = 24 * time.Hour
	maxKey        = 255
	maxBody       = 10 << 20
)

// service starts validation runs exactly once and executes them, as a service on River does it: the key, the quota, the
// submission, the run and the job are written in one transaction, and a worker of River runs the engine and completes
// the run together with its job.
type service struct {
	pool *pgxpool.Pool
	jobs *river.Client[pgx.Tx]
}

//go:embed schema.sql
var schema string

// onRiver makes the tables, with the organizations that the benchmark knows, in the empty schema of DATABASE_URL. With
// WORKERS it also executes runs.
func onRiver(ctx context.Context) (http.HandlerFunc, func(context.Context) error, error) {
	cfg, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		return nil, nil, err
	}
	cfg.MaxConns = maxConns
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	// Only the simple protocol takes several statements with a parameter.
	if _, err := pool.Exec(ctx, schema, pgx.QueryExecModeSimpleProtocol, os.Getenv("STEP")); err != nil {
		return nil, nil, err
	}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return nil, nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, nil, err
	}
	s := &service{pool: pool}
	jobs := &river.Config{Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	works := os.Getenv("WORKERS") != ""
	if works {
		jobs.Workers = river.NewWorkers()
		river.AddWorker(jobs.Workers, &executor{pool: pool})
		jobs.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}}
		jobs.FetchCooldown = fetchCooldown
	}
	if s.jobs, err = river.NewClient(driver, jobs); err != nil || !works {
		return s.start, func(context.Context) error { return nil }, err
	}
	return s.start, s.jobs.Stop, s.jobs.Start(context.WithoutCancel(ctx))
}

// stored is the answer to the first request with a key.
type stored struct {
	hash, location string
	status         int
	body           []byte
}

// refusal ends a request without a trace.
type refusal struct {
	status int
	code   string
}

func (r refusal) Error() string { return r.code }

func (s *service) start(w http.ResponseWriter, r *http.Request) {
	answer, replayed, err := s.answer(r)
	if refused, ok := errors.AsType[refusal](err); ok {
		http.Error(w, `{"code":"`+refused.code+`"}`, refused.status)
		return
	}
	if err != nil {
		slog.ErrorContext(r.Context(), "start", "error", err)
		http.Error(w, `{"code":"internal_error"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", answer.location)
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
}

// answer starts a run, or returns the stored answer and true.
func (s *service) answer(r *http.Request) (stored, bool, error) {
	ctx := r.Context()
	flow, err := s.authorize(ctx, r)
	if err != nil {
		return stored{}, false, err
	}
	key := r.Header.Get("Idempotency-Key")
	if key == "" || len(key) > maxKey {
		return stored{}, false, refusal{http.StatusBadRequest, "idempotency_key_invalid"}
	}
	content, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return stored{}, false, err
	}
	digest := sha256.New()
	fmt.Fprintf(digest, "%s\x00%s\x00%s\x00\x00", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"))
	digest.Write(content)
	hash := hex.EncodeToString(digest.Sum(nil))
	for {
		var known stored
		err := s.pool.QueryRow(ctx, `
			SELECT request_hash, response_status, response_headers->>'Location', response_text FROM idempotency_keys
			WHERE org_id = $1 AND key = $2 AND endpoint = $3`, flow.orgID, key, endpoint).
			Scan(&known.hash, &known.status, &known.location, &known.body)
		if err == nil && known.hash != hash {
			err = refusal{http.StatusUnprocessableEntity, "idempotency_key_reused"}
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return known, true, err
		}
		answer, err := s.insert(ctx, r, flow, key, hash, content)
		// Another request with the key was first, and has committed.
		if !errors.Is(err, pgx.ErrNoRows) {
			return answer, false, err
		}
	}
}

// workflow is what the token of a request may start.
type workflow struct {
	id, orgID uuid.UUID
	slug      string
	version   int
}

func (s *service) authorize(ctx context.Context, r *http.Request) (workflow, error) {
	secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	digest := sha256.Sum256([]byte(secret))
	var flow workflow
	var role string
	err := s.pool.QueryRow(ctx, `SELECT org_id, role FROM tokens WHERE digest = $1`, digest[:]).Scan(&flow.orgID, &role)
	if errors.Is(err, pgx.ErrNoRows) {
		err = refusal{http.StatusUnauthorized, "authentication_failed"}
	}
	if err == nil && role != "executor" {
		err = refusal{http.StatusForbidden, "permission_denied"}
	}
	if err != nil {
		return workflow{}, err
	}
	err = s.pool.QueryRow(ctx, `SELECT id, slug, version FROM workflows WHERE id = $1 AND org_id = $2`,
		r.PathValue("id"), flow.orgID).Scan(&flow.id, &flow.slug, &flow.version)
	if errors.Is(err, pgx.ErrNoRows) {
		err = refusal{http.StatusNotFound, "not_found"}
	}
	return flow, err
}

// insert writes all of a start. It returns pgx.ErrNoRows if the key is taken.
func (s *service) insert(
	ctx context.Context, r *http.Request, flow workflow, key, hash string, content []byte,
) (stored, error) {
	runID, keyID, now := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), time.Now()
	answer := stored{hash: hash, status: http.StatusCreated, location: "/api/runs/" + runID.String() + "/"}
	var err error
	if answer.body, err = json.Marshal(map[string]any{
		"id": runID, "url": answer.location, "state": "PENDING", "workflow": flow.slug,
	}); err != nil {
		return stored{}, err
	}
	ip, _, _ := net.SplitHostPort(r.RemoteAddr)
	return answer, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			INSERT INTO idempotency_keys (id, org_id, key, endpoint, request_method, request_path, request_hash,
				request_ip, user_agent, recovery_point, response_status, response_headers, response_text,
				validation_run_id, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'finished', $10, jsonb_build_object('Location', $11::text), $12,
				$13, $14, $15)
			ON CONFLICT (org_id, key, endpoint) DO NOTHING RETURNING id`,
			keyID, flow.orgID, key, endpoint, r.Method, r.URL.Path, hash, ip, r.UserAgent(), answer.status,
			answer.location, answer.body, runID, now, now.Add(keyLifetime)).Scan(&keyID)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE usage_counters SET used = used + 1 WHERE org_id = $1 AND (quota IS NULL OR used < quota)
			RETURNING used`, flow.orgID).QueryRow(func(row pgx.Row) error {
			var used int64
			err := row.Scan(&used)
			if errors.Is(err, pgx.ErrNoRows) {
				err = refusal{http.StatusTooManyRequests, "quota_exceeded"}
			}
			return err
		})
		digest := sha256.Sum256(content)
		batch.Queue(`
			WITH submission AS (
				INSERT INTO submissions (org_id, media_type, filename, size, sha256, content)
				VALUES ($1, $2, $3, $4, $5, $6) RETURNING id)
			INSERT INTO validation_runs (id, org_id, workflow_id, workflow_version, submission_id, idempotency_key_id,
				source, state, created_at)
			SELECT $7, $1, $8, $9, id, $10, 'API', 'PENDING', $11 FROM submission`,
			flow.orgID, r.Header.Get("Content-Type"), r.Header.Get("X-Filename"), len(content),
			hex.EncodeToString(digest[:]), content, runID, flow.id, flow.version, keyID, now)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		_, err = s.jobs.InsertTx(ctx, tx, execution{RunID: runID}, nil)
		return err
	})
}

// execution is the job of a run.
type execution struct {
	RunID uuid.UUID `json:"run_id"`
}

// Kind names the job in the table of River.
func (execution) Kind() string { return "execute_run" }

// executor runs the engine.
type executor struct {
	river.WorkerDefaults[execution]

	pool *pgxpool.Pool
	// compiled are the engines by their configuration.
	compiled sync.Map
}

// Work reads the document, checks it, and writes the result together with the completion of the job.
func (e *executor) Work(ctx context.Context, job *river.Job[execution]) error {
	began := time.Now()
	var config, mediaType, filename string
	var content []byte
	if err := e.pool.QueryRow(ctx, `
		SELECT w.config, s.media_type, s.filename, s.content
		FROM validation_runs AS r
		JOIN workflows AS w ON w.id = r.workflow_id
		JOIN submissions AS s ON s.id = r.submission_id
		WHERE r.id = $1`, job.Args.RunID).Scan(&config, &mediaType, &filename, &content); err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	compiled, known := e.compiled.Load(config)
	if !known {
		engine, faults := engines.Compile("table", []byte(config), engines.DefaultLimits())
		if len(faults) > 0 {
			return fmt.Errorf("compile the step: %v", faults)
		}
		compiled, _ = e.compiled.LoadOrStore(config, engine)
	}
	report, err := compiled.(engines.Engine).Run(ctx, engines.NewDocument(content, mediaType, filename))
	if err != nil {
		return fmt.Errorf("check document: %w", err)
	}
	return pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`INSERT INTO step_runs (run_id, ordinal, error_count, warning_count, started_at, ended_at)
			VALUES ($1, 0, $2, $3, $4, $5)`, job.Args.RunID, report.Errors, report.Warnings, began, time.Now())
		for i, f := range report.Findings {
			batch.Queue(`INSERT INTO findings (run_id, ordinal, severity, code, message) VALUES ($1, $2, $3, $4, $5)`,
				job.Args.RunID, i, string(f.Severity), f.Code, f.Message)
		}
		result := "PASS"
		if report.Errors > 0 {
			result = "FAIL"
		}
		batch.Queue(`UPDATE validation_runs SET state = 'COMPLETED', result = $2, ended_at = now()
			WHERE id = $1 AND state = 'PENDING'`, job.Args.RunID, result)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}
