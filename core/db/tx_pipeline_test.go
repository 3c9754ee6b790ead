package db_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// inPipeline runs one statement with BEGIN and the others with COMMIT, and returns how often it began.
func inPipeline(ctx context.Context, database *db.DB, job string, last ...string) (int, error) {
	begun := 0
	_, err := db.InPipeline(ctx, database, func(batch *db.Batch) *db.Future[int] {
		begun++
		batch.Queue(insertTick, job)
		return queueCount(batch, job)
	}, func(_ db.Tx, counted *db.Future[int], batch *db.Batch) (int, error) {
		if n, err := counted.Get(); err != nil || n != 1 {
			return 0, errors.New("what travels with BEGIN was not answered")
		}
		for _, statement := range last {
			batch.Queue(statement)
		}
		return 0, nil
	})
	return begun, err
}

// queueCount counts the ticks of a job.
func queueCount(batch *db.Batch, job string) *db.Future[int] {
	return db.QueueInto(batch, func(rows pgx.Rows) (int, error) {
		return pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
	}, `SELECT count(*) FROM job_ticks WHERE job = $1`, job)
}

// stateOf is the code that the server gave to an error, empty when there is none.
func stateOf(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	return ""
}

const (
	insertLast   = `INSERT INTO job_ticks (job, tick) VALUES ('last', now())`
	divideByZero = `SELECT 1 / 0`
)

func TestInPipeline(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	for name, tt := range map[string]struct {
		last  []string
		code  string
		begun int
		ticks int
	}{
		"Commits":              {last: []string{insertLast}, begun: 1, ticks: 1},
		"CommitsAlone":         {begun: 1, ticks: 1},
		"FailsBeforeTheCommit": {last: []string{divideByZero}, code: "22012", begun: 1},
		"FailsInTheMiddle":     {last: []string{insertLast, divideByZero, insertLast}, code: "22012", begun: 1},
		"FailsBecauseItTookTooLong": {
			last: []string{`SET LOCAL statement_timeout = 1`, `SELECT pg_sleep(5)`}, code: "57014", begun: 1,
		},
		"RepeatsWhatMayBeRepeated": {
			last: []string{`DO $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '40001'; END $$`},
			code: "40001", begun: 3,
		},
		"FailsAtTheCommit": {last: []string{danglingKey}, code: "23503", begun: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, err := inPipeline(t.Context(), database, name, tt.last...)
			if got := stateOf(err); got != tt.code || errors.Is(err, db.ErrOutcomeUnknown) || begun != tt.begun {
				t.Errorf("err = %v after %d transactions, want a certain %q after %d", err, begun, tt.code, tt.begun)
			}
			if got := ticks(t, database, name); got != tt.ticks {
				t.Errorf("ticks = %d, want %d", got, tt.ticks)
			}
		})
	}
}

// inBatch is inPipeline for a transaction in one round trip. It returns what the first statements have answered.
func inBatch(ctx context.Context, database *db.DB, job string, rest ...string) (int, int, error) {
	begun := 0
	answered, err := db.InBatch(ctx, database, func(batch *db.Batch) *db.Future[int] {
		begun++
		batch.Queue(insertTick, job)
		got := queueCount(batch, job)
		for _, statement := range rest {
			batch.Queue(statement)
		}
		return got
	})
	if err != nil {
		return 0, begun, err
	}
	n, err := answered.Get()
	return n, begun, err
}

func TestInBatch(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	for name, tt := range map[string]struct {
		rest  []string
		code  string
		begun int
		ticks int
	}{
		"Commits":          {begun: 1, ticks: 1},
		"FailsInTheMiddle": {rest: []string{divideByZero, insertLast}, code: "22012", begun: 1},
		"RepeatsWhatMayBeRepeated": {
			rest: []string{`DO $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '40001'; END $$`},
			code: "40001", begun: 3,
		},
		"FailsAtTheCommit": {rest: []string{danglingKey}, code: "23503", begun: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answered, begun, err := inBatch(t.Context(), database, name, tt.rest...)
			if got := stateOf(err); got != tt.code || errors.Is(err, db.ErrOutcomeUnknown) || begun != tt.begun {
				t.Errorf("err = %v after %d transactions, want a certain %q after %d", err, begun, tt.code, tt.begun)
			}
			if got := ticks(t, database, name); got != tt.ticks || answered != tt.ticks {
				t.Errorf("ticks = %d, answered = %d, want %d", got, answered, tt.ticks)
			}
		})
	}
}

// An error in the place of a statement that travels with COMMIT may be a pooler's, which has lost its server after it
// had passed on the COMMIT as well.
func TestServerLostBeforeTheAnswerToTheCommit(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	for code, unknown := range map[string]bool{
		"08006": true, "58000": true, "57P01": true, "57014": false, "23505": false,
	} {
		for kind, transact := range map[string]func(statement string) (int, error){
			"InPipeline": func(statement string) (int, error) {
				return inPipeline(t.Context(), database, "pipeline-"+code, statement, insertLast)
			},
			"InBatch": func(statement string) (int, error) {
				_, begun, err := inBatch(t.Context(), database, "batch-"+code, statement, insertLast)
				return begun, err
			},
		} {
			t.Run(kind+"/"+code, func(t *testing.T) {
				t.Parallel()
				begun, err := transact(`DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '` + code + `'; END $$`)
				if got := stateOf(err); got != code || begun != 1 || errors.Is(err, db.ErrOutcomeUnknown) != unknown {
					t.Errorf("err = %v after %d transactions, want an unknown outcome: %t", err, begun, unknown)
				}
			})
		}
	}
}
