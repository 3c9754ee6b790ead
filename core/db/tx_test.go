package db_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const insertTick = `INSERT INTO job_ticks (job, tick) VALUES ($1, now())`

func ticks(tb testing.TB, database *db.DB, job string) int {
	tb.Helper()
	var n int
	err := database.Pool.QueryRow(tb.Context(), `SELECT count(*) FROM job_ticks WHERE job = $1`, job).Scan(&n)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func TestInTx(t *testing.T) {
	t.Parallel()
	database := coretest.ConnectWithin(t, coretest.DatabaseURL(t), 2*time.Minute)

	t.Run("GormAndPgxShareTheTransaction", func(t *testing.T) {
		t.Parallel()
		failure := errors.New("no")
		_, err := db.InGormTx(t.Context(), database, func(tx db.GormTx) (int, error) {
			err := tx.Gorm(t.Context()).Exec(`INSERT INTO job_ticks (job, tick) VALUES ('both', now())`).Error
			if err != nil {
				return 0, err
			}
			var n int
			err = tx.QueryRow(t.Context(), `SELECT count(*) FROM job_ticks WHERE job = 'both'`).Scan(&n)
			if err != nil {
				return 0, err
			}
			if n != 1 {
				t.Errorf("rows seen inside = %d, want 1", n)
			}
			return 0, failure
		})
		if !errors.Is(err, failure) {
			t.Fatalf("InTx = %v, want the closure's error", err)
		}
		if n := ticks(t, database, "both"); n != 0 {
			t.Errorf("rows after rollback = %d, want 0", n)
		}
	})

	t.Run("RollsBackOnPanicAndGivesTheConnectionBack", func(t *testing.T) {
		t.Parallel()
		func() {
			defer func() { _ = recover() }()
			_, _ = db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
				if _, err := tx.Exec(t.Context(), insertTick, "panic"); err != nil {
					return 0, err
				}
				panic("planted")
			})
		}()
		if n := ticks(t, database, "panic"); n != 0 {
			t.Errorf("rows = %d, want 0", n)
		}
	})

	t.Run("RepeatsWhatTheDatabaseAsksToRepeat", func(t *testing.T) {
		t.Parallel()
		calls := 0
		_, err := db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
			calls++
			if calls < 3 {
				_, err := tx.Exec(t.Context(), `DO $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '40001'; END $$`)
				return 0, err
			}
			return 0, nil
		})
		if err != nil || calls != 3 {
			t.Errorf("err = %v after %d calls, want success at the third", err, calls)
		}
	})

	t.Run("SaysWhenACommitHasRolledBack", func(t *testing.T) {
		t.Parallel()
		_, err := db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
			_, err := tx.Exec(t.Context(), divideByZero)
			if err == nil {
				t.Error("the statement has not failed")
			}
			return 0, nil // The transaction is aborted, which PostgreSQL answers to its COMMIT without an error.
		})
		if !errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, db.ErrOutcomeUnknown) {
			t.Errorf("err = %v, want that nothing was committed", err)
		}
	})

	t.Run("LimitsLocksStatementsAndIdling", func(t *testing.T) {
		t.Parallel()
		_, err := db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
			var lock, statement, idle string
			err := tx.QueryRow(t.Context(), `
				SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),
					current_setting('idle_in_transaction_session_timeout')`).Scan(&lock, &statement, &idle)
			if lock != "2min" || statement != "10min" || idle != "10min" {
				t.Errorf("limits = %s, %s, %s, want 2min, 10min, 10min", lock, statement, idle)
			}
			return 0, err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// danglingKey names a run that there is not, which COMMIT finds out.
const danglingKey = `
	INSERT INTO idempotency_keys (org_id, id, key, endpoint, request_method, request_path, fingerprint_version,
		request_hash, target_digest, content_digest, options_digest, request_id, validation_run_id, recovery_point,
		created_at, expires_at)
	VALUES (gen_random_uuid(), gen_random_uuid(), 'k', 'e', 'POST', '/', 1, sha256('r'), sha256('t'), sha256('c'),
		sha256('o'), 'r', gen_random_uuid(), 'started', now(), now() + interval '1 day')`

func TestInTxReadsCommittedWhateverTheDefault(t *testing.T) {
	t.Parallel()
	address := coretest.DatabaseURL(t)
	_, err := coretest.Connect(t, address).Pool.Exec(t.Context(), `
		DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database());
		END $$`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := db.InTx(t.Context(), coretest.Connect(t, address), func(tx db.Tx) (string, error) {
		var level string
		err := tx.QueryRow(t.Context(), `SHOW transaction_isolation`).Scan(&level)
		return level, err
	})
	if err != nil || got != "read committed" {
		t.Errorf("isolation = %q, %v, want read committed", got, err)
	}
}

// A server that has not noticed the loss of a connection keeps the locks of its transaction. A repetition would meet
// them, and a claim would take its own for another request's.
func TestInTxIsNotRepeatedAfterALostConnection(t *testing.T) {
	t.Parallel()
	database := coretest.OpenDatabase(t)
	calls := 0
	_, err := db.InTx(t.Context(), database, func(tx db.Tx) (int, error) {
		calls++
		_, err := tx.Exec(t.Context(), `SELECT pg_terminate_backend(pg_backend_pid())`)
		return 0, err
	})
	if calls != 1 || !db.IsUnavailable(err) || errors.Is(err, db.ErrOutcomeUnknown) {
		t.Errorf("err = %v after %d calls, want that the database could not answer, after one", err, calls)
	}
}

// TestPoolPassesDeadConnectionsOver ends all connections of a pool at once, as a restart of the server does.
func TestPoolPassesDeadConnectionsOver(t *testing.T) {
	t.Parallel()
	address := coretest.DatabaseURL(t)
	database, other := coretest.Connect(t, address), coretest.Connect(t, address)
	var taken []*pgxpool.Conn
	for range database.Pool.Config().MaxConns {
		conn, err := database.Pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, conn)
	}
	for _, conn := range taken {
		program := conn.Conn().PgConn().PID()
		conn.Release()
		if !coretest.One[bool](t, other, `SELECT pg_terminate_backend($1, 10000)`, program) {
			t.Fatalf("process %d did not end", program)
		}
	}
	for range taken {
		if _, err := database.Pool.Exec(t.Context(), `SELECT 1`); err != nil {
			t.Errorf("err = %v, want none after the connections were lost", err)
		}
	}
}

func TestBehindPoolerWithoutOne(t *testing.T) {
	t.Parallel()
	if pooled, err := coretest.OpenDatabase(t).BehindPooler(t.Context()); pooled || err != nil {
		t.Errorf("behind a pooler = %t, %v, want false", pooled, err)
	}
}

// ways are the kinds of transactions. Each returns how often it began.
func ways() map[string]func(ctx context.Context, database *db.DB) (int, error) {
	return map[string]func(ctx context.Context, database *db.DB) (int, error){
		"InTx": func(ctx context.Context, database *db.DB) (int, error) {
			begun := 0
			_, err := db.InTx(ctx, database, func(tx db.Tx) (int, error) {
				begun++
				_, err := tx.Exec(ctx, insertTick, "unknown")
				return 0, err
			})
			return begun, err
		},
		"InPipeline": func(ctx context.Context, database *db.DB) (int, error) {
			return inPipeline(ctx, database, "unknown", insertLast)
		},
		"InBatch": func(ctx context.Context, database *db.DB) (int, error) {
			_, begun, err := inBatch(ctx, database, "unknown")
			return begun, err
		},
	}
}

// TestUnknownOutcome breaks the connection at the commit, or lets the server fail there, before the server gets the
// commit and after. Nobody can tell the two apart, so none of the kinds of transactions may be repeated.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	type outcome struct {
		fault pgproxy.Fault
		ticks int
	}
	faults := map[string]outcome{
		"CommitArrived": {pgproxy.Fault{Swallow: true}, 1}, "CommitLost": {pgproxy.Fault{Lose: true}, 0},
	}
	for _, told := range []pgproxy.Error{
		{Severity: "PANIC", Code: "58030"},
		{Severity: "PANIC", Code: "53100"},
		{Severity: "FATAL", Code: "57P01"},
		// What a pooler says that has lost its server, and codes that are certain where they are no more than an error.
		{Severity: "FATAL", Code: "58000"},
		{Severity: "FATAL", Code: "40001"},
		{Severity: "FATAL", Code: "23503"},
		{Severity: "ERROR", Code: "57014"},
		{Severity: "ERROR", Code: "08006"},
		{Severity: "ERROR", Code: "58000"},
	} {
		faults[told.Severity+told.Code+"Arrived"] = outcome{pgproxy.Fault{Error: told}, 1}
		faults[told.Severity+told.Code+"Lost"] = outcome{pgproxy.Fault{Error: told, Lose: true}, 0}
	}
	for kind, transact := range ways() {
		for name, tt := range faults {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				address := coretest.DatabaseURL(t)
				proxy := pgproxy.Start(t, address)
				proxy.Watch(func(pgproxy.Commit) pgproxy.Fault { return tt.fault })
				database, direct := coretest.Connect(t, proxy.URL()), coretest.Connect(t, address)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begun, err := transact(ctx, database)
				if !errors.Is(err, db.ErrOutcomeUnknown) || begun != 1 {
					t.Fatalf("err = %v after %d transactions, want ErrOutcomeUnknown and no repetition", err, begun)
				}
				if db.IsContention(err) || db.IsMemberFault(err) || db.ViolatedConstraint(err) != "" {
					t.Errorf("err = %v, want that it is not a refusal", err)
				}
				coretest.Eventually(t, func() bool { return ticks(t, direct, "unknown") == tt.ticks })
			})
		}
	}
}

// TestCertainRefusal refuses commits in the only way that is certain: with an error after which the session goes on.
func TestCertainRefusal(t *testing.T) {
	t.Parallel()
	for kind, transact := range ways() {
		for code, begun := range map[string]int{"40001": 3, "40P01": 3, "23503": 1, "23505": 1, "P0001": 1} {
			t.Run(kind+"/"+code, func(t *testing.T) {
				t.Parallel()
				address := coretest.DatabaseURL(t)
				proxy := pgproxy.Start(t, address)
				refused := pgproxy.Fault{Lose: true, Error: pgproxy.Error{Severity: "ERROR", Code: code}}
				proxy.Watch(func(pgproxy.Commit) pgproxy.Fault { return refused })
				got, err := transact(t.Context(), coretest.Connect(t, proxy.URL()))
				if stateOf(err) != code || errors.Is(err, db.ErrOutcomeUnknown) || got != begun {
					t.Errorf("err = %v after %d transactions, want a certain %s after %d", err, got, code, begun)
				}
				if n := ticks(t, coretest.Connect(t, address), "unknown"); n != 0 {
					t.Errorf("ticks = %d, want 0", n)
				}
			})
		}
	}
}

// TestCommitErrorWithoutUntranslatedSeverity commits through a server or a pooler that sends only the translated
// severity.
func TestCommitErrorWithoutUntranslatedSeverity(t *testing.T) {
	t.Parallel()
	proxy := pgproxy.Start(t, coretest.DatabaseURL(t))
	old := pgproxy.Error{Severity: "ERROR", Code: "40001", Translated: true}
	proxy.Watch(func(pgproxy.Commit) pgproxy.Fault { return pgproxy.Fault{Error: old} })
	database := coretest.Connect(t, proxy.URL())
	if begun, err := ways()["InTx"](t.Context(), database); !errors.Is(err, db.ErrOutcomeUnknown) || begun != 1 {
		t.Errorf("err = %v after %d transactions, want ErrOutcomeUnknown and no repetition", err, begun)
	}
}

func TestStatementsEndWhenTheDatabaseIsFrozen(t *testing.T) {
	t.Parallel()
	proxy := pgproxy.Start(t, coretest.DatabaseURL(t))
	database, err := db.Open(t.Context(), db.Config{
		URL: proxy.URL(), MaxConns: 4, LockTimeout: time.Second, StatementTimeout: 100 * time.Millisecond,
		IdleTimeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() }) // Its connections lead nowhere.
	proxy.Silence()
	if _, err := database.Pool.Exec(t.Context(), `SELECT 1`); !db.IsUnavailable(err) {
		t.Errorf("err = %v, want one that says unavailable", err)
	}
	_, err = db.InTx(t.Context(), database, func(tx db.Tx) (int, error) { return 0, nil })
	if !db.IsUnavailable(err) || errors.Is(err, db.ErrOutcomeUnknown) {
		t.Errorf("err = %v, want one that says unavailable and that nothing happened", err)
	}
}

func TestLostConnectionsAreUnavailable(t *testing.T) {
	t.Parallel()
	for _, lost := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, driver.ErrBadConn, sql.ErrConnDone, context.DeadlineExceeded,
	} {
		err := fmt.Errorf("read: %w", lost)
		if !db.IsUnavailable(err) {
			t.Errorf("%v: want it to be unavailable", lost)
		}
	}
}

func TestErrorClasses(t *testing.T) {
	t.Parallel()
	for _, severity := range []string{"FATAL", "PANIC"} {
		if ended := (&pgconn.PgError{SeverityUnlocalized: severity, Code: "58030"}); !db.IsUnavailable(ended) {
			t.Errorf("IsUnavailable(%s) = false, want true", severity)
		}
	}
	for code, want := range map[string]struct{ unavailable, member, contention bool }{
		"08006": {unavailable: true}, "53300": {unavailable: true}, "57P01": {unavailable: true},
		"25006": {unavailable: true}, "55P03": {unavailable: true},
		"25P03": {unavailable: true}, "25P04": {unavailable: true},
		"40001": {member: true, contention: true}, "40P01": {member: true, contention: true},
		"23505": {member: true}, "22021": {member: true}, "21000": {member: true}, "42601": {},
	} {
		err := error(&pgconn.PgError{Code: code})
		if got := db.IsUnavailable(err); got != want.unavailable {
			t.Errorf("IsUnavailable(%s) = %t, want %t", code, got, want.unavailable)
		}
		if got := db.IsMemberFault(err); got != want.member {
			t.Errorf("IsMemberFault(%s) = %t, want %t", code, got, want.member)
		}
		if got := db.IsContention(err); got != want.contention {
			t.Errorf("IsContention(%s) = %t, want %t", code, got, want.contention)
		}
	}
}
