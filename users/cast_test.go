package users_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/users/quota"
)

func TestMain(m *testing.M) {
	coretest.Main(m)
}

// testBundle is the app on a database of its own.
type testBundle struct {
	db      *db.DB
	service *users.Service
}

func setup(tb testing.TB) *testBundle {
	tb.Helper()
	// Some tests hold a lock until all others wait for it.
	database := coretest.OpenDatabase(tb)
	service, err := users.NewService(database, core.NewValidator(), users.Config{})
	if err != nil {
		tb.Fatalf("make the service: %v", err)
	}
	return &testBundle{db: database, service: service}
}

// org adds an organization with a quota; a negative one is unlimited.
func (b *testBundle) org(tb testing.TB, slug string, most int64) uuid.UUID {
	tb.Helper()
	limit := &most
	if most < 0 {
		limit = nil
	}
	org, err := b.service.CreateOrganization(tb.Context(), slug, slug, limit)
	if err != nil {
		tb.Fatalf("create organization: %v", err)
	}
	return org.ID
}

// member adds a user as a member of the organization.
func (b *testBundle) member(tb testing.TB, orgID uuid.UUID, email string, role api.Role) uuid.UUID {
	tb.Helper()
	user, err := b.service.Accounts.CreateUser(tb.Context(), email, "Name", "")
	if err != nil {
		tb.Fatalf("create user: %v", err)
	}
	if err := b.service.SetMembership(tb.Context(), orgID, user.ID, role); err != nil {
		tb.Fatalf("set membership: %v", err)
	}
	return user.ID
}

func (b *testBundle) token(tb testing.TB, request access.TokenRequest) string {
	tb.Helper()
	secret, err := b.service.Access.CreateToken(tb.Context(), request)
	if err != nil {
		tb.Fatalf("create token: %v", err)
	}
	return secret
}

// charge charges runs in a transaction of their own, and returns for each whether it was granted.
func (b *testBundle) charge(tb testing.TB, orgs ...uuid.UUID) []bool {
	tb.Helper()
	if _, err := quota.OpenCounters(tb.Context(), b.db, orgs); err != nil {
		tb.Fatalf("open counters: %v", err)
	}
	granted, err := db.InTx(tb.Context(), b.db, func(tx db.Tx) ([]bool, error) {
		return chargeIn(tb.Context(), tx, orgs...)
	})
	if err != nil {
		tb.Fatalf("charge runs: %v", err)
	}
	return granted
}

// chargeIn charges runs in a transaction.
func chargeIn(ctx context.Context, tx db.Tx, orgs ...uuid.UUID) ([]bool, error) {
	runs := make([]uuid.UUID, len(orgs))
	charges := make([]quota.RunCharge, len(orgs))
	for i, orgID := range orgs {
		runs[i] = uuid.New()
		charges[i] = quota.RunCharge{RunID: runs[i], OrgID: orgID}
	}
	batch := tx.NewBatch()
	db.Grant(batch, runs)
	answered := quota.QueueCharges(batch, charges)
	if err := batch.Send(ctx); err != nil {
		return nil, err
	}
	granted, err := answered.Get()
	return db.Column(runs, func(id *uuid.UUID) bool { return slices.Contains(granted, *id) }), err
}

func (b *testBundle) exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := b.db.Pool.Exec(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// one reads one value.
func one[T any](tb testing.TB, b *testBundle, query string, args ...any) T {
	tb.Helper()
	return coretest.One[T](tb, b.db, query, args...)
}

// unlimited lets every token make as many requests as it likes.
type unlimited struct{}

func (unlimited) Allow(context.Context, uuid.UUID) core.Allowance { return core.Allowance{} }

// authenticate makes a request with the token and returns who it stands for.
func (b *testBundle) authenticate(tb testing.TB, secret string) (core.Principal, error) {
	tb.Helper()
	request := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/", http.NoBody)
	request.Header.Set(echo.HeaderAuthorization, "Bearer "+secret)
	var principal core.Principal
	app, err := users.New(b.service, nil, nil, nil, nil, unlimited{})
	if err != nil {
		tb.Fatal(err)
	}
	edge := access.Edge{Requests: unlimited{}, OrgRequests: unlimited{}}
	err = app.Access.Authenticate(edge, new(core.Routes))(func(c echo.Context) error {
		var err error
		principal, err = core.Caller(c)
		return err
	})(echo.New().NewContext(request, httptest.NewRecorder()))
	return principal, err
}
