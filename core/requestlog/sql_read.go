package requestlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const columns = `id, org_id, at, took_us, method, path, endpoint, status, code, key, token_id, address, request_id,
	original_request_id, replayed, run_id, headers, body_size, body_digest, problem`

// listQuery is a page of a list as SQL. The first filter is answered by an index in the order of the list, and the
// others are compared request by request.
type listQuery struct {
	args []any
	// where selects the rows of the index, in the order of their ids.
	where string
	// compared are the other filters.
	compared []string
	// starts says that only requests that start runs are shown.
	starts bool
	// bounds are the ids between which the page lies, both excluded.
	from, to uuid.UUID
	backward bool
	size     int
}

// newListQuery chooses the index.
func newListQuery(orgID uuid.UUID, filter Filter, cursor core.Cursor) *listQuery {
	q := &listQuery{where: "org_id = $1", to: uuid.Max, backward: cursor.Backward, size: cursor.Size}
	q.arg(orgID)
	status := ""
	if filter.Status != "" {
		status = filter.Status[:1]
	}
	leads := false
	narrow := func(column, value, where string) {
		switch {
		case value == "":
		case leads:
			q.compared = append(q.compared, column+" = "+q.arg(value)+castOf(column))
		default:
			leads = true
			q.where = indexed(where) + " AND " + column + " = " + q.arg(value) + castOf(column)
		}
	}
	narrow("key", filter.Key, "key <> ''")
	narrow("run_id", filter.Run, "run_id IS NOT NULL")
	narrow("code", filter.Code, "code <> ''")
	if status == "4" || status == "5" {
		narrow("(status / 100)", status, "status >= 400")
		status = ""
	}
	narrow("token_id", filter.Token, "token_id IS NOT NULL")
	if status != "" {
		leads = true
		narrow("(status / 100)", status, "")
	}
	q.bound(filter, cursor)
	return q
}

// indexed selects the organization's rows in the index of a filter, which has the rows with a condition. No other index
// answers the expression, so the planner has no choice, whatever it believes to know of the table.
func indexed(condition string) string {
	return condition + " AND CASE WHEN " + condition + " THEN org_id END = $1"
}

// bound sets the ids between which the page lies. Ids begin with their time. The tags have validated the texts.
func (q *listQuery) bound(filter Filter, cursor core.Cursor) {
	if at, err := time.Parse(time.RFC3339, filter.Since); err == nil {
		q.from = core.FirstIDAt(at)
	}
	if at, err := time.Parse(time.RFC3339, filter.Until); err == nil {
		q.to = core.FirstIDAt(at)
	}
	switch {
	case cursor.ID == uuid.Nil:
	case cursor.Backward:
		q.from = later(q.from, cursor.ID)
	case cursor.ID.String() < q.to.String():
		q.to = cursor.ID
	}
}

func later(a, b uuid.UUID) uuid.UUID {
	if a.String() > b.String() {
		return a
	}
	return b
}

// arg adds a parameter and returns its name.
func (q *listQuery) arg(value any) string {
	q.args = append(q.args, value)
	return "$" + strconv.Itoa(len(q.args))
}

// compares reports whether requests are compared with more than the index answers.
func (q *listQuery) compares() bool { return q.starts || len(q.compared) > 0 }

// window returns the rows of the index between the bounds as SQL, in the order of the page.
func (q *listQuery) window(selected, limit string) string {
	order := " DESC"
	if q.backward {
		order = ""
	}
	return `SELECT ` + selected + ` FROM request_log
		WHERE ` + q.where + ` AND id > ` + q.arg(q.from) + ` AND id < ` + q.arg(q.to) + `
		ORDER BY id` + order + ` ` + limit
}

func castOf(column string) string {
	switch column {
	case "run_id", "token_id":
		return "::uuid"
	case "(status / 100)":
		return "::text::integer"
	default:
		return "::text"
	}
}

// condition joins what is compared request by request.
func (q *listQuery) condition() string {
	conditions := []string{"true"}
	if q.starts {
		conditions = append(conditions, "endpoint = ANY ("+q.arg(starts())+"::text[])")
	}
	return strings.Join(append(conditions, q.compared...), " AND ")
}

// requests reads the page and one request more.
func (r *Reader) requests(ctx context.Context, q *listQuery) ([]Request, error) {
	page := *q
	order := " DESC"
	if q.backward {
		order = ""
	}
	limit := page.size + 1
	if page.compares() {
		limit = core.MaxScanned
	}
	statement := `SELECT ` + columns + ` FROM (` + page.window("*", "LIMIT "+strconv.Itoa(limit)) + `) AS near
		WHERE ` + page.condition() + ` ORDER BY id` + order + ` LIMIT ` + strconv.Itoa(page.size+1)
	found, err := db.All(ctx, r.db.Pool, scanRequest, statement, page.args...)
	if err != nil {
		return nil, fmt.Errorf("list requests: %w", err)
	}
	return found, nil
}

// lastCompared returns the last request that the page has compared, or the zero UUID if it has compared all.
func (r *Reader) lastCompared(ctx context.Context, q *listQuery) (uuid.UUID, error) {
	page := *q
	// Parameters of other filters are not used here, so they have no type of their own.
	page.args = page.args[:len(page.args)-len(page.compared)]
	var last uuid.UUID
	statement := page.window("id", "OFFSET "+strconv.Itoa(core.MaxScanned-1)+" LIMIT 1")
	err := r.db.Pool.QueryRow(ctx, statement, page.args...).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("find the last request to compare: %w", err)
	}
	return last, nil
}

func (r *Reader) find(ctx context.Context, orgID, id uuid.UUID, startsOnly bool) (Request, error) {
	rows, err := r.db.Pool.Query(ctx, `SELECT `+columns+` FROM request_log
		WHERE org_id = $1 AND id = $2 AND (NOT $3::boolean OR endpoint = ANY ($4::text[]))`,
		orgID, id, startsOnly, starts())
	if err != nil {
		return Request{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanRequest)
}

func scanRequest(row pgx.CollectableRow) (Request, error) {
	var found Request
	var micros int64
	var endpoint, code string
	var token, run *uuid.UUID
	var address *netip.Addr
	var headers string
	var problem *string
	var digest []byte
	err := row.Scan(&found.ID, &found.OrgID, &found.At, &micros, &found.Method, &found.Path, &endpoint, &found.Status,
		&code, &found.Key, &token, &address, &found.RequestID, &found.OriginalRequestID, &found.Replayed, &run,
		&headers, &found.BodySize, &digest, &problem)
	if err != nil {
		return Request{}, fmt.Errorf("read a request: %w", err)
	}
	found.Took = time.Duration(micros) * time.Microsecond
	found.Endpoint, found.Code = idempotency.Endpoint(endpoint), api.Code(code)
	if token != nil {
		found.TokenID = *token
	}
	if run != nil {
		found.RunID = *run
	}
	if address != nil {
		found.Address = *address
	}
	if len(digest) == len(Digest{}) {
		found.BodyDigest = new(Digest(digest))
	}
	if err := json.Unmarshal([]byte(headers), &found.Headers); err != nil {
		return Request{}, fmt.Errorf("read the headers of request %s: %w", found.ID, err)
	}
	if problem == nil {
		return found, nil
	}
	if err := json.Unmarshal([]byte(*problem), &found.Problem); err != nil {
		return Request{}, fmt.Errorf("read the problem of request %s: %w", found.ID, err)
	}
	return found, nil
}

// QueueUses adds a look-up of the first and the last requests of a key. There may be any number between them.
func QueueUses(reads *db.Reads, use Use, first, last int, found *[]Request) {
	between := ` FROM request_log WHERE ` + indexed("key <> ''") + ` AND key = $2 AND id > $4 AND id < $5`
	reads.Queue(db.AllInto(found, scanRequest), `
		SELECT `+columns+` FROM (
			(SELECT *`+between+` ORDER BY id LIMIT $6)
			UNION
			(SELECT *`+between+` ORDER BY id DESC LIMIT $7)) AS used
		WHERE endpoint = $3 ORDER BY id`,
		use.OrgID, use.Key, use.Endpoint, core.FirstIDAt(use.Since), core.FirstIDAt(use.Until), first, last)
}

// refusalDays is how many days are kept and shown, today included.
const refusalDays = 30

// Refusals reads the refusals of the last days, today first, those with the most starts first.
func (r *Reader) Refusals(ctx context.Context, orgID uuid.UUID, days int) ([]Refusal, error) {
	found, err := db.All(ctx, r.db.Pool, pgx.RowToStructByPos[Refusal], `
		SELECT day, code, starts, others FROM refusal_days
		WHERE org_id = $1 AND day > (now() AT TIME ZONE 'UTC')::date - $2::integer
		ORDER BY day DESC, starts DESC, others DESC, code`, orgID, min(days, refusalDays))
	if err != nil {
		return nil, fmt.Errorf("read the refusals: %w", err)
	}
	return found, nil
}
