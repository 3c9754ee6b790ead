package db

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coalesce"
)

// Loader collects what a request looks up in one round trip, outside of a transaction. Each look-up finds one row at
// most. The zero Loader is empty.
//
// It suits what every request asks for by a key, such as its token, because concurrent requests share one statement.
// What only a page asks for, or what may find several rows, goes into Reads.
type Loader struct {
	lookups []lookup
	loaded  bool
}

// Param is a parameter of a look-up, whose query calls it asked.NAME.
type Param struct {
	Name string
	// Type is that of Value.
	Type  string
	Value any
	// Query finds what the parameter stands for, where that is not Value itself; it calls Value given.NAME.
	Query string
}

type lookup struct {
	query  string
	params []Param
	scan   func(pgx.CollectableRow) error
	// kind is equal for look-ups that can share a statement.
	kind string
}

// Lookup adds a look-up and returns its row as scan reads it; the future's value is nil when no row is found.
//
// Equal queries of several requests become one statement, so the text of a query must depend on nothing but the kind of
// look-up.
func Lookup[T any](
	l *Loader, scan func(pgx.CollectableRow) (T, error), query string, params ...Param,
) *Future[*T] {
	found := &Future[*T]{sent: &l.loaded}
	added := lookup{query: query, params: params, kind: query, scan: func(row pgx.CollectableRow) error {
		value, err := scan(row)
		found.value = &value
		return err
	}}
	for _, param := range params {
		added.kind += param.Query
	}
	l.lookups = append(l.lookups, added)
	return found
}

const (
	// loadsAtOnce lets the database work on a full batch of look-ups while the answers of the other one are read.
	loadsAtOnce = 2
	// maxLoads bounds a batch, and maxWaitingLoads how many requests may wait for their turn.
	maxLoads        = 64
	maxWaitingLoads = 64 * maxLoads
	// loadOverlap is far more than a batch takes.
	loadOverlap = 50 * time.Millisecond
)

func newLoadBatcher(db *DB) *coalesce.Batcher[*Loader, error] {
	return coalesce.New(coalesce.Limits{
		Batches: loadsAtOnce, MinBatch: maxLoads, OverlapAfter: loadOverlap,
		Members: maxLoads, Weight: maxLoads, Waiting: maxWaitingLoads, WaitingWeight: maxWaitingLoads,
	}, func(*Loader) int { return 1 }, db.loadTogether)
}

// Load runs the look-ups. Requests that load at the same time share their statements, because a statement costs the
// database much more than a row of it. What is found was read after the call began.
func (db *DB) Load(ctx context.Context, loader *Loader) error {
	failure, err := db.loads.Do(ctx, loader)
	if err != nil {
		return fmt.Errorf("wait for look-ups: %w", err)
	}
	loader.loaded = failure == nil
	return failure
}

// loadTogether goes on when the client that leads the batch has gone, because the others have not.
func (db *DB) loadTogether(ctx context.Context, loaders []*Loader) []error {
	failures := make([]error, len(loaders))
	var batch pgx.Batch
	for _, q := range questions(loaders) {
		batch.Queue(db.statement(q), q.arguments()...).Query(func(rows pgx.Rows) error {
			return q.answer(rows, failures)
		})
	}
	err := db.Pool.SendBatch(context.WithoutCancel(ctx), &batch).Close()
	switch {
	case err == nil:
		return failures
	case isPlanChanged(err):
		return db.loadTogether(ctx, loaders)
	}
	// A look-up of one request may be at fault, and must not fail the others.
	apart := len(loaders) > 1 && !IsUnavailable(err)
	for i, loader := range loaders {
		if apart {
			failures[i] = db.loadTogether(ctx, []*Loader{loader})[0]
		} else {
			failures[i] = fmt.Errorf("look up: %w", err)
		}
	}
	return failures
}

// question is one query with all the parameters that it is asked for.
type question struct {
	asked []lookup
	// by says which of the loaders asked.
	by []int
}

// questions puts equal queries together, in the order of their first loader.
func questions(loaders []*Loader) []*question {
	var all []*question
	known := make(map[string]*question)
	for i, loader := range loaders {
		for _, l := range loader.lookups {
			q, ok := known[l.kind]
			if !ok {
				q = &question{}
				known[l.kind] = q
				all = append(all, q)
			}
			q.asked, q.by = append(q.asked, l), append(q.by, i)
		}
	}
	return all
}

// statement returns the question's statement, which is written once.
func (db *DB) statement(q *question) string {
	kind := q.asked[0].kind
	known, _ := db.statements.Load(kind)
	statement, ok := known.(string)
	if !ok {
		statement = q.statement()
		db.statements.Store(kind, statement)
	}
	return statement
}

// statement finds the rows one by one, so that each uses the same index whatever the tables hold and however many are
// asked for. The sub-selects hide the length of the arrays from the planner, which would make a new plan for each.
func (q *question) statement() string {
	var arrays, names, values strings.Builder
	for i, param := range q.asked[0].params {
		arrays.WriteString("(SELECT $" + strconv.Itoa(i+1) + "::" + param.Type + "[]), ")
		names.WriteString(param.Name + ", ")
		if param.Query == "" {
			values.WriteString("given." + param.Name + ", ")
		} else {
			values.WriteString("(" + param.Query + ") AS " + param.Name + ", ")
		}
	}
	return "SELECT asked.place, found.* FROM (SELECT " + values.String() + "given.place FROM unnest(" +
		strings.TrimSuffix(arrays.String(), ", ") + ") WITH ORDINALITY AS given (" + names.String() +
		"place)) AS asked CROSS JOIN LATERAL (" + q.asked[0].query + " LIMIT 1) AS found"
}

// arguments returns the parameters column by column.
func (q *question) arguments() []any {
	columns := make([]any, len(q.asked[0].params))
	for i := range columns {
		columns[i] = Column(q.asked, func(l *lookup) any { return l.params[i].Value })
	}
	return columns
}

func (q *question) answer(rows pgx.Rows, failures []error) error {
	defer rows.Close()
	var number int
	row := &answerRow{Rows: rows}
	for rows.Next() {
		place := rows.FieldDescriptions()[0]
		err := rows.Conn().TypeMap().Scan(place.DataTypeOID, place.Format, rows.RawValues()[0], &number)
		if err != nil {
			return fmt.Errorf("read whose row it is: %w", err)
		}
		asked := number - 1
		if err := q.asked[asked].scan(row); err != nil {
			failures[q.by[asked]] = err
		}
	}
	return rows.Err()
}

// answerRow is a row without its first column, which says whose it is. All rows of an answer share one.
type answerRow struct {
	pgx.Rows

	dest []any
}

// Scan reads the columns of the look-up's own query.
func (r *answerRow) Scan(dest ...any) error {
	r.dest = append(append(r.dest[:0], nil), dest...)
	return r.Rows.Scan(r.dest...)
}
