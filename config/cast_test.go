package config_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows"
)

func TestMain(m *testing.M) {
	tasks.LogRedisClient(discard())
	dbtest.Main(m)
}

// version is the release that the tests say they are.
const version = "1.2.3"

// patience is far above what anything here takes, so that only what hangs fails.
const patience = 3 * time.Minute

// testSecretKey is the key of the tests' installations.
const testSecretKey = "dGhlIGtleSBvZiB0aGUgdGVzdHMnIGluc3RhbGxhdCE="

// stage is the whole service in this process, on a database and a Redis of its own, with the cast of the
// demonstration: harbour may start a million runs a month, Tiny three.
type stage struct {
	config.Services

	Harbour, Tiny config.DemoOrg

	db       *db.DB
	redis    *miniredis.Miniredis
	project  *config.Project
	settings config.Settings
	router   *echo.Echo
	address  string
	client   *http.Client
}

// demonstration is a database with the organizations of the demonstration, which every stage has a copy of.
var demonstration = dbtest.NewTemplate(func(ctx context.Context, address string) ([]config.DemoOrg, error) {
	database, err := db.Open(ctx, db.Config{
		URL: address, MaxConns: 2, LockTimeout: time.Minute, StatementTimeout: time.Minute, IdleTimeout: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	defer database.Close()
	settings, _, err := config.LoadSettings(nil)
	if err != nil {
		return nil, err
	}
	project, err := config.NewProject(settings, version, database, nil, discard())
	if err != nil {
		return nil, err
	}
	return project.SeedTenants(ctx)
})

// setup serves the API; change adjusts the settings before.
func setup(tb testing.TB, change ...func(*config.Settings)) *stage {
	tb.Helper()
	settings, _, err := config.LoadSettings(nil)
	if err != nil {
		tb.Fatalf("load settings: %v", err)
	}
	settings.RequestsPerSecond, settings.OrgRequestsPerSecond, settings.RunsPerMinute = 0, 0, 0
	settings.SecretKey = testSecretKey
	// However busy the machine is, no run goes uncounted.
	settings.RunsLimitTimeout = time.Minute
	settings.DBLockTimeout, settings.CommitTimeout = patience, patience
	for _, adjust := range change {
		adjust(&settings)
	}
	address, orgs := demonstration.DatabaseURL(tb)
	database := dbtest.ConnectPatiently(tb, address, settings.DBLockTimeout)
	s := &stage{Harbour: orgs[0], Tiny: orgs[1], db: database, redis: miniredis.RunT(tb), settings: settings}
	queue, err := tasks.ParseRedisURL("redis://" + s.redis.Addr())
	if err != nil {
		tb.Fatalf("parse Redis URL: %v", err)
	}
	client := queue.Client()
	tb.Cleanup(func() { _ = client.Close() }) // Nothing is lost with it.
	if s.project, err = config.NewProject(settings, version, s.db, client, discard()); err != nil {
		tb.Fatalf("install apps: %v", err)
	}
	s.Services = s.project.Services()
	s.Users.HashCheaply()
	if s.router, err = config.NewRouter(s.project); err != nil {
		tb.Fatalf("make router: %v", err)
	}
	s.serve(tb)
	return s
}

// serve answers on a free port, as the process does.
func (s *stage) serve(tb testing.TB) {
	tb.Helper()
	listener, err := config.Listen(tb.Context(), "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.address = listener.Addr().String()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	s.client = &http.Client{
		Transport:     transport,
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- config.ServeWeb(ctx, listener, s.router, s.settings, discard()) }()
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			tb.Errorf("serve: %v", err)
		}
	})
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// call is a request. What is not set is not sent, and without a method it is a GET.
type call struct {
	method string
	path   string
	token  string
	header http.Header
	body   string
}

// with returns the call with one more header, in place of one of the same name.
func (c call) with(name, value string) call {
	c.header = maps.Clone(c.header)
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header.Set(name, value)
	return c
}

// by returns the call with another token.
func (c call) by(token string) call {
	c.token = token
	return c
}

// to returns the call with another path.
func (c call) to(path string) call {
	c.path = path
	return c
}

func (c call) request(ctx context.Context, address string) (*http.Request, error) {
	method := c.method
	if method == "" {
		method = http.MethodGet
	}
	var body io.Reader
	if c.body != "" {
		body = bytes.NewBufferString(c.body)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+c.path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	maps.Copy(request.Header, c.header)
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes the request; use do in a test's own goroutine.
func (s *stage) send(ctx context.Context, c call) (answer, error) {
	request, err := c.request(ctx, s.address)
	if err != nil {
		return answer{}, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", request.Method, c.path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read the answer to %s %s: %w", request.Method, c.path, err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

// do makes the request and checks the answer against the OpenAPI document.
func (s *stage) do(tb testing.TB, c call) answer {
	tb.Helper()
	got, err := s.send(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	request, err := c.request(tb.Context(), s.address)
	if err != nil {
		tb.Fatal(err)
	}
	if request.Method != http.MethodHead {
		checkResponse(tb, request, got.status, got.header, got.body)
	}
	return got
}

// must makes a request that has to be answered with the status.
func (s *stage) must(tb testing.TB, status int, c call) answer {
	tb.Helper()
	got := s.do(tb, c)
	if got.status != status {
		tb.Fatalf("%s %s: status = %d, want %d; body %s", c.method, c.path, got.status, status, got.body)
	}
	return got
}

// refused makes a request that has to be answered with a problem of the code.
func (s *stage) refused(tb testing.TB, code core.Code, c call) {
	tb.Helper()
	wantProblem(tb, s.do(tb, c), code)
}

// wantProblem checks everything that every problem document has in common.
func wantProblem(tb testing.TB, got answer, code core.Code) core.Problem {
	tb.Helper()
	spec := code.Spec()
	if got.status != spec.Status {
		tb.Fatalf("status = %d, want %d (%s); body %s", got.status, spec.Status, code, got.body)
	}
	if contentType := got.header.Get("Content-Type"); contentType != core.ProblemType {
		tb.Errorf("Content-Type = %q, want %q", contentType, core.ProblemType)
	}
	if control := got.header.Get("Cache-Control"); control != "no-store" {
		tb.Errorf("Cache-Control = %q, want no-store", control)
	}
	problem := decoded[core.Problem](tb, got)
	if problem.Code != code || problem.Status != spec.Status || problem.Title != spec.Title {
		tb.Errorf("problem = %s %d %q, want %s %d %q",
			problem.Code, problem.Status, problem.Title, code, spec.Status, spec.Title)
	}
	if want := "/docs/errors/" + string(code) + "/"; problem.Type != want {
		tb.Errorf("type = %q, want %q", problem.Type, want)
	}
	if problem.Detail == "" {
		tb.Error("detail is empty")
	}
	if id := got.header.Get(core.HeaderRequestID); id == "" || problem.RequestID != id {
		tb.Errorf("request_id = %q, want the Request-Id %q", problem.RequestID, id)
	}
	return problem
}

func decoded[T any](tb testing.TB, got answer) T {
	tb.Helper()
	var value T
	decoder := json.NewDecoder(bytes.NewReader(got.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		tb.Fatalf("decode %T: %v; body %s", value, err, got.body)
	}
	return value
}

// start is a start of a good table of meter readings by harbour's executor, without a key if key is "".
func (s *stage) start(tb testing.TB, key string) call {
	tb.Helper()
	c := call{
		method: http.MethodPost, path: "/api/workflows/meter-readings/start/", token: s.Harbour.Tokens.Executor,
		header: http.Header{"Content-Type": {"text/csv"}}, body: sampleText(tb, "good/meter-readings.csv"),
	}
	if key != "" {
		return c.with("Idempotency-Key", key)
	}
	return c
}

func sampleText(tb testing.TB, name string) string {
	tb.Helper()
	text, err := docs.Sample(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// started starts a run and returns it.
func (s *stage) started(tb testing.TB, c call) validations.RunBody {
	tb.Helper()
	return decoded[validations.RunBody](tb, s.must(tb, http.StatusCreated, c))
}

// one reads one value or, as a struct, one row.
func one[T any](tb testing.TB, s *stage, query string, args ...any) T {
	tb.Helper()
	return dbtest.One[T](tb, s.db, query, args...)
}

// prepare fills tables, however long that takes.
func (s *stage) prepare(tb testing.TB, query string, args ...any) {
	tb.Helper()
	dbtest.Prepare(tb, s.db.Pool.Config().ConnString(), query, args...)
}

func (s *stage) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := s.db.Pool.Exec(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// rowCounts is what starts leave behind.
type rowCounts struct {
	Keys, Submissions, Runs, Jobs, Audits, Used int64
}

func (s *stage) rowCounts(tb testing.TB) rowCounts {
	tb.Helper()
	rows, err := s.db.Pool.Query(tb.Context(), `
		SELECT (SELECT count(*) FROM idempotency_keys), (SELECT count(*) FROM submissions),
			(SELECT count(*) FROM validation_runs), (SELECT count(*) FROM staged_jobs),
			(SELECT count(*) FROM audit_records WHERE action = 'run.start'),
			(SELECT coalesce(sum(used), 0)::bigint FROM usage_counters)`)
	if err != nil {
		tb.Fatal(err)
	}
	counts, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[rowCounts])
	if err != nil {
		tb.Fatal(err)
	}
	return counts
}

// work executes what is staged, as the worker does.
func (s *stage) work(tb testing.TB) {
	tb.Helper()
	if _, err := s.workOnce(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

func (s *stage) workOnce(ctx context.Context) (int, error) {
	rows, err := s.db.Pool.Query(ctx, `DELETE FROM staged_jobs RETURNING kind, org_id, subject_id, epoch`)
	if err != nil {
		return 0, fmt.Errorf("take staged jobs: %w", err)
	}
	staged, err := pgx.CollectRows(rows, pgx.RowToStructByPos[jobs.Job])
	if err != nil {
		return 0, fmt.Errorf("take staged jobs: %w", err)
	}
	for _, job := range staged {
		if err := s.Executor.Execute(ctx, job); err != nil {
			return 0, fmt.Errorf("execute %s: %w", job.TaskID(), err)
		}
	}
	return len(staged), nil
}

// addWorkflow adds a workflow to an organization.
func (s *stage) addWorkflow(tb testing.TB, org config.DemoOrg, draft workflows.Draft) workflows.Version {
	tb.Helper()
	version, err := s.Workflows.Create(tb.Context(), org.ID, draft)
	if err != nil {
		tb.Fatalf("create workflow: %v", err)
	}
	return version
}

// addToken adds a token of the organization's member with the membership's role.
func (s *stage) addToken(tb testing.TB, org config.DemoOrg, member, role core.Role) (string, uuid.UUID) {
	tb.Helper()
	user, err := s.Users.User(tb.Context(), string(member)+"@"+org.Slug+".example")
	if err != nil {
		tb.Fatalf("find user: %v", err)
	}
	label := uuid.NewString()
	secret, err := s.Users.CreateToken(tb.Context(), users.TokenRequest{
		OrgID: org.ID, UserID: user.ID, Label: label, Role: role,
	})
	if err != nil {
		tb.Fatalf("create token: %v", err)
	}
	return secret, one[uuid.UUID](tb, s, `SELECT id FROM api_tokens WHERE label = $1`, label)
}
