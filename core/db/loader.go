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

// Lookups collect what a request looks up in one round trip to the database, outside of a transaction. Each look-up
// finds one row at most.
//
// They suit what every request asks for by a key, such as its token, because many requests share one statement. What
// only a page asks for, or what may find several rows, goes into Reads.
type Loader struct {
	lookups []lookup
}

// Param is a parameter of a look-up, whose query calls it asked.NAME.
type Param struct {
	Name  string
	Type  string
	Value any
}

type lookup struct {
	query  string
	params []Param
	scan   func(pgx.CollectableRow) error
}

// Queue adds a look-up. When a row is found, scan gets it; its error is what LookUp returns.
//
// The same queries of several requests become one statement, so the text of a query must not depend on anything but
// what kind of look-up it is.
func (l *Loader) Queue(scan func(pgx.CollectableRow) error, query string, params ...Param) {
	l.lookups = append(l.lookups, lookup{query: query, params: params, scan: scan})
}

const (
	// lookupGroups is how many groups of requests look up at once: while the database works on a full one, the answers
	// of the other are read.
	lookupGroups = 2
	// lookupMembers bounds a group, and lookupsWaiting how many requests may wait for their turn.
	lookupMembers  = 64
	lookupsWaiting = 64 * lookupMembers
	// lookupPatience is far more than a group takes.
	lookupPatience = 50 * time.Millisecond
)

func newLoadBatcher(db *DB) *coalesce.Batcher[*Loader, error] {
	return coalesce.New(coalesce.Limits{
		Batches: lookupGroups, MinBatch: lookupMembers, OverlapAfter: lookupPatience,
		Members: lookupMembers, Weight: lookupMembers, Waiting: lookupsWaiting, WaitingWeight: lookupsWaiting,
	}, func(*Loader) int { return 1 }, db.lookUpTogether)
}

// LookUp runs the look-ups. Those of requests that come while a few groups are under way share their statements,
// because a statement costs the database much more than a row of it. What is found was read after the call began.
func (db *DB) Load(ctx context.Context, lookups *Loader) error {
	failure, err := db.loads.Do(ctx, lookups)
	if err != nil {
		return fmt.Errorf("wait for look-ups: %w", err)
	}
	return failure
}

// lookUpTogether goes on when the client that leads the group has gone, because the others have not.
func (db *DB) lookUpTogether(ctx context.Context, requests []*Loader) []error {
	failures := make([]error, len(requests))
	var batch pgx.Batch
	for _, q := range questions(requests) {
		batch.Queue(q.statement(), q.arguments()...).Query(func(rows pgx.Rows) error {
			return q.answer(rows, failures)
		})
	}
	err := db.Pool.SendBatch(context.WithoutCancel(ctx), &batch).Close()
	if err == nil {
		return failures
	}
	// What one request has asked may be at fault, and that is not the others' trouble.
	apart := len(requests) > 1 && !IsUnavailable(err)
	for i, request := range requests {
		if apart {
			failures[i] = db.lookUpTogether(ctx, []*Loader{request})[0]
		} else {
			failures[i] = fmt.Errorf("look up: %w", err)
		}
	}
	return failures
}

// question is one query with all the parameters that it is asked for.
type question struct {
	asked []lookup
	// by says which of the requests asked.
	by []int
}

// questions puts equal queries together, in the order of their first request.
func questions(requests []*Loader) []*question {
	var all []*question
	known := make(map[string]*question)
	for i, request := range requests {
		for _, l := range request.lookups {
			q, ok := known[l.query]
			if !ok {
				q = &question{}
				known[l.query] = q
				all = append(all, q)
			}
			q.asked, q.by = append(q.asked, l), append(q.by, i)
		}
	}
	return all
}

// statement looks the rows up one by one, so that each is found by the same index whatever the tables hold and however
// many are asked for. The planner must not look into the arrays: it would make a new plan for each length.
func (q *question) statement() string {
	var arrays, names strings.Builder
	for i, param := range q.asked[0].params {
		arrays.WriteString("(SELECT $" + strconv.Itoa(i+1) + "::" + param.Type + "[]), ")
		names.WriteString(param.Name + ", ")
	}
	return "SELECT asked.place, found.* FROM unnest(" + strings.TrimSuffix(arrays.String(), ", ") +
		") WITH ORDINALITY AS asked (" + names.String() + "place) CROSS JOIN LATERAL (" + q.asked[0].query +
		" LIMIT 1) AS found"
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
	for rows.Next() {
		var number int
		place := rows.FieldDescriptions()[0]
		err := rows.Conn().TypeMap().Scan(place.DataTypeOID, place.Format, rows.RawValues()[0], &number)
		if err != nil {
			return fmt.Errorf("read whose row it is: %w", err)
		}
		asked := number - 1
		if err := q.asked[asked].scan(answerRow{rows}); err != nil {
			failures[q.by[asked]] = err
		}
	}
	return rows.Err()
}

// answerRow is a row without its first column, which says whose it is.
type answerRow struct {
	pgx.Rows
}

// Scan reads the columns of the look-up's own query.
func (r answerRow) Scan(dest ...any) error {
	return r.Rows.Scan(append(make([]any, 1, 1+len(dest)), dest...)...)
}
