package pgproxy_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/db"
)

func TestMain(m *testing.M) { coretest.Main(m) }

// bundle is a database that is reached through a proxy and around it.
type bundle struct {
	proxy           *pgproxy.Proxy
	through, around *db.DB

	mu   sync.Mutex
	seen []string
}

func setup(tb testing.TB) *bundle {
	tb.Helper()
	address := coretest.DatabaseURL(tb)
	b := &bundle{proxy: pgproxy.Start(tb, address), around: coretest.Connect(tb, address)}
	b.through = coretest.Connect(tb, b.proxy.URL())
	if _, err := b.around.Pool.Exec(tb.Context(), `CREATE TABLE notes (text text)`); err != nil {
		tb.Fatal(err)
	}
	b.strikeWith(pgproxy.Fault{})
	return b
}

// strikeWith makes the fault strike at every commit, and lists the commits.
func (b *bundle) strikeWith(fault pgproxy.Fault) {
	b.proxy.Watch(func(commit pgproxy.Commit) pgproxy.Fault {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.seen = append(b.seen, commit.String())
		return fault
	})
}

func (b *bundle) commits() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

// inTx runs statements in a transaction, as the product does.
func (b *bundle) inTx(ctx context.Context, statements ...string) error {
	return db.Do(ctx, b.through, func(tx db.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bundle) notes(tb testing.TB) int {
	tb.Helper()
	var n int
	if err := b.around.Pool.QueryRow(tb.Context(), `SELECT count(*) FROM notes`).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}

const insertNote = `INSERT INTO notes (text) VALUES ('a')`

func TestCommitsAreFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(ctx context.Context, b *bundle) error
		want []string
	}{
		"ATransaction": {
			func(ctx context.Context, b *bundle) error {
				return b.inTx(ctx, insertNote, `UPDATE notes AS n SET text = 'b'`, `UPDATE notes SET text = 'c'`)
			}, []string{"insert notes, update notes"},
		},
		"StatementsWithParameters": {
			func(ctx context.Context, b *bundle) error {
				return db.Do(ctx, b.through, func(tx db.Tx) error {
					for range 3 {
						if _, err := tx.Exec(ctx, `INSERT INTO notes (text) VALUES ($1)`, "a"); err != nil {
							return err
						}
					}
					return nil
				})
			}, []string{"insert notes"},
		},
		"ABatch": {
			func(ctx context.Context, b *bundle) error {
				return db.Do(ctx, b.through, func(tx db.Tx) error {
					batch := tx.NewBatch()
					batch.Queue(`INSERT INTO notes (text) VALUES ($1)`, "a")
					batch.Queue(`DELETE FROM notes WHERE text = $1`, "a")
					return batch.Send(ctx)
				})
			}, []string{"insert notes, delete notes"},
		},
		"ACopyAmongOthers": {
			func(ctx context.Context, b *bundle) error {
				return pgx.BeginFunc(ctx, b.through.Pool, func(tx pgx.Tx) error {
					if _, err := tx.Exec(ctx, insertNote); err != nil {
						return err
					}
					rows := pgx.CopyFromRows([][]any{{"b"}})
					_, err := tx.CopyFrom(ctx, pgx.Identifier{"notes"}, []string{"text"}, rows)
					return err
				})
			}, []string{"insert notes, copy notes"},
		},
		"Gorm": {
			func(ctx context.Context, b *bundle) error {
				return db.DoGorm(ctx, b.through, func(tx db.GormTx) error {
					return tx.Gorm(ctx).Exec(`INSERT INTO notes (text) VALUES (?)`, "a").Error
				})
			}, []string{"insert notes"},
		},
		"ACommitInAPipeline": {
			func(ctx context.Context, b *bundle) error {
				batch := new(pgx.Batch)
				batch.Queue(`BEGIN`)
				batch.Queue(`INSERT INTO notes (text) VALUES ($1)`, "a")
				batch.Queue(`COMMIT`)
				return b.through.Pool.SendBatch(ctx, batch).Close()
			}, []string{"insert notes"},
		},
		"ATransactionInTwoPipelines": {
			func(ctx context.Context, b *bundle) error {
				_, err := db.InPipeline(ctx, b.through, func(first *db.Batch) struct{} {
					first.Queue(insertNote)
					return struct{}{}
				}, func(_ db.Tx, _ struct{}, last *db.Batch) (struct{}, error) {
					last.Queue(`UPDATE notes SET text = $1`, "b")
					return struct{}{}, nil
				})
				return err
			}, []string{"insert notes, update notes"},
		},
		"ATransactionThatChangesNothingInTwoPipelines": {
			func(ctx context.Context, b *bundle) error {
				_, err := db.InPipeline(ctx, b.through, func(first *db.Batch) struct{} {
					first.Queue(`SELECT text FROM notes FOR UPDATE`)
					return struct{}{}
				}, func(db.Tx, struct{}, *db.Batch) (struct{}, error) { return struct{}{}, nil })
				return err
			}, nil,
		},
		"StatementsOfTheirOwn": {
			func(ctx context.Context, b *bundle) error {
				_, simple := b.through.Pool.Exec(ctx, insertNote)
				_, extended := b.through.Pool.Exec(ctx, `
					WITH due AS (SELECT text FROM notes FOR UPDATE SKIP LOCKED)
					UPDATE notes SET text = $1 FROM due WHERE notes.text = due.text`, "b")
				return errors.Join(simple, extended)
			}, []string{"insert notes", "update notes"},
		},
		"ACopyOfItsOwn": {
			func(ctx context.Context, b *bundle) error {
				rows := pgx.CopyFromRows([][]any{{"b"}})
				_, err := b.through.Pool.CopyFrom(ctx, pgx.Identifier{"notes"}, []string{"text"}, rows)
				return err
			}, []string{"copy notes"},
		},
		"NotWhereNothingChanges": {
			func(ctx context.Context, b *bundle) error {
				return b.inTx(ctx, `UPDATE notes SET text = 'b'`, `SELECT FROM notes FOR UPDATE OF notes`)
			}, nil,
		},
		"NotWhereItIsRolledBack": {
			func(ctx context.Context, b *bundle) error {
				err := b.inTx(ctx, insertNote, `SELECT 1 / 0`)
				if err == nil {
					return errors.New("the transaction did not fail")
				}
				_, err = b.through.Pool.Exec(ctx, `SELECT count(*) FROM notes`)
				return err
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if err := tt.do(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.commits()); diff != "" {
				t.Errorf("commits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault pgproxy.Fault
		notes int
	}{
		"Lost":      {pgproxy.Fault{Lose: true}, 0},
		"Swallowed": {pgproxy.Fault{Swallow: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.strikeWith(tt.fault)
			if err := b.inTx(t.Context(), insertNote); !errors.Is(err, db.ErrOutcomeUnknown) {
				t.Errorf("err = %v, want one that says that nobody knows", err)
			}
			if got := b.notes(t); got != tt.notes {
				t.Errorf("rows = %d, want %d", got, tt.notes)
			}
			if _, err := b.through.Pool.Exec(t.Context(), insertNote); err == nil {
				t.Error("a statement of its own succeeded, want it to fail like a transaction")
			}
			if got := b.notes(t); got != 2*tt.notes {
				t.Errorf("rows = %d, want %d", got, 2*tt.notes)
			}
		})
	}
}

// TestErrors has the server tell each error in place of its answer, after the commit and instead of it.
func TestErrors(t *testing.T) {
	t.Parallel()
	transactions := map[string]func(ctx context.Context, b *bundle) error{
		"InTx": func(ctx context.Context, b *bundle) error { return b.inTx(ctx, insertNote) },
		"InPipeline": func(ctx context.Context, b *bundle) error {
			_, err := db.InPipeline(ctx, b.through, func(*db.Batch) struct{} { return struct{}{} },
				func(_ db.Tx, _ struct{}, last *db.Batch) (struct{}, error) {
					last.Queue(`INSERT INTO notes (text) VALUES ($1)`, "a")
					return struct{}{}, nil
				})
			return err
		},
		"InBatch": func(ctx context.Context, b *bundle) error {
			_, err := db.InBatch(ctx, b.through, func(batch *db.Batch) struct{} {
				batch.Queue(insertNote)
				return struct{}{}
			})
			return err
		},
		"AStatementOfItsOwn": func(ctx context.Context, b *bundle) error {
			_, err := b.through.Pool.Exec(ctx, `INSERT INTO notes (text) VALUES ($1)`, "a")
			return err
		},
	}
	for kind, transact := range transactions {
		for _, told := range []pgproxy.Error{
			{Severity: "ERROR", Code: "23514"}, {Severity: "FATAL", Code: "58000"}, {Severity: "PANIC", Code: "58030"},
		} {
			for when, lose := range map[string]bool{"Before": true, "After": false} {
				t.Run(kind+"/"+told.Severity+when, func(t *testing.T) {
					t.Parallel()
					b := setup(t)
					b.strikeWith(pgproxy.Fault{Lose: lose, Error: told})
					pgErr, ok := errors.AsType[*pgconn.PgError](transact(t.Context(), b))
					if !ok || pgErr.SeverityUnlocalized != told.Severity || pgErr.Code != told.Code {
						t.Fatalf("error = %+v, want %+v", pgErr, told)
					}
					want := map[bool]int{true: 0, false: 1}[lose]
					if got := b.notes(t); got != want {
						t.Errorf("rows = %d, want %d", got, want)
					}
					b.strikeWith(pgproxy.Fault{})
					if err := b.inTx(t.Context(), insertNote); err != nil || b.notes(t) != want+1 {
						t.Errorf("the next transaction: err = %v with %d rows, want %d", err, b.notes(t), want+1)
					}
				})
			}
		}
	}
}

func TestErrorsGiveWayToTheServersOwn(t *testing.T) {
	t.Parallel()
	for when, lose := range map[string]bool{"Before": true, "After": false} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.strikeWith(pgproxy.Fault{Lose: lose, Error: pgproxy.Error{Severity: "PANIC", Code: "58030"}})
			_, err := db.InBatch(t.Context(), b.through, func(batch *db.Batch) struct{} {
				batch.Queue(insertNote)
				batch.Queue(`SELECT 1 / 0`)
				return struct{}{}
			})
			if pgErr, ok := errors.AsType[*pgconn.PgError](err); !ok || pgErr.Code != "22012" || b.notes(t) != 0 {
				t.Errorf("err = %v with %d rows, want the division by zero and none", err, b.notes(t))
			}
		})
	}
}

// TestTheErrorOfAnEndedSessionArrives ends the session in the server while it commits: nothing follows its error.
func TestTheErrorOfAnEndedSessionArrives(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.strikeWith(pgproxy.Fault{})
	err := b.inTx(t.Context(), `CREATE FUNCTION pg_temp.die() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'`, `
		CREATE CONSTRAINT TRIGGER die AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION pg_temp.die()`, insertNote)
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); !ok || pgErr.Code != "57P01" {
		t.Errorf("err = %v, want that of the server: 57P01", err)
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()

	t.Run("SurroundTheCommit", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var before, after int
		b.strikeWith(pgproxy.Fault{Before: func() { before = b.notes(t) }, After: func() { after = b.notes(t) }})
		if err := b.inTx(t.Context(), insertNote); err != nil {
			t.Fatal(err)
		}
		if before != 0 || after != 1 {
			t.Errorf("rows before and after = %d, %d, want 0, 1", before, after)
		}
	})

	t.Run("StallTheAnswer", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		b.strikeWith(pgproxy.Fault{After: func() {
			cancel()
			<-t.Context().Done()
		}})
		if err := b.inTx(ctx, insertNote); !errors.Is(err, db.ErrOutcomeUnknown) {
			t.Errorf("err = %v, want one that says that nobody knows", err)
		}
		if got := b.notes(t); got != 1 {
			t.Errorf("rows = %d, want 1", got)
		}
	})
}

func TestSilence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.proxy.Silence()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := b.inTx(ctx, insertNote); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want that the time is over", err)
	}
	if got := strings.Join(b.commits(), "; "); got != "" || b.notes(t) != 0 {
		t.Errorf("commits = %q and %d rows, want none", got, b.notes(t))
	}
}
