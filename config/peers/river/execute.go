package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

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
	engine, err := e.engine(config)
	if err != nil {
		return err
	}
	report, err := engine.Run(ctx, engines.NewDocument(content, mediaType, filename))
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

func (e *executor) engine(config string) (engines.Engine, error) {
	if known, ok := e.compiled.Load(config); ok {
		return known.(engines.Engine), nil
	}
	engine, faults := engines.Compile("table", []byte(config), engines.DefaultLimits())
	if len(faults) > 0 {
		return nil, fmt.Errorf("compile the step: %v", faults)
	}
	e.compiled.Store(config, engine)
	return engine, nil
}
