package commands_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/users/access"
	"github.com/simplevalidations/simplevalidations/users/commands"
)

func TestMain(m *testing.M) {
	coretest.Main(m)
}

// testBundle is the commands on a database of their own.
type testBundle struct {
	db      *db.DB
	service *commands.Service
}

func setup(tb testing.TB) *testBundle {
	tb.Helper()
	database := coretest.OpenDatabase(tb)
	service, err := users.NewService(database, core.NewValidator(), users.Config{})
	if err != nil {
		tb.Fatalf("make the service: %v", err)
	}
	return &testBundle{db: database, service: commands.NewService(database, service)}
}

// org adds the organization acme.
func (b *testBundle) org(tb testing.TB) uuid.UUID {
	tb.Helper()
	quota := int64(1)
	org, err := b.service.Users.CreateOrganization(tb.Context(), "acme", "acme", &quota)
	if err != nil {
		tb.Fatalf("create organization: %v", err)
	}
	return org.ID
}

// member adds a user as a member of the organization.
func (b *testBundle) member(tb testing.TB, orgID uuid.UUID, email string, role core.Role) {
	tb.Helper()
	request := users.MemberRequest{OrgID: orgID, Role: role, Email: email}
	if _, err := b.service.Users.CreateMember(tb.Context(), request); err != nil {
		tb.Fatalf("create member: %v", err)
	}
}

// one reads one value.
func one[T any](tb testing.TB, b *testBundle, query string, args ...any) T {
	tb.Helper()
	return coretest.One[T](tb, b.db, query, args...)
}

// unlimited lets every token make as many requests as it likes.
type unlimited struct{}

func (unlimited) Allow(uuid.UUID) core.Allowance { return core.Allowance{} }

// authenticate makes a request with the token and returns who it stands for.
func (b *testBundle) authenticate(tb testing.TB, secret string) (core.Principal, error) {
	tb.Helper()
	request := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/", http.NoBody)
	request.Header.Set(echo.HeaderAuthorization, "Bearer "+secret)
	var principal core.Principal
	app, err := access.New(b.service.Users.Access, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	edge := access.Edge{Requests: unlimited{}, OrgRequests: unlimited{}}
	err = app.Authenticate(edge, new(core.Routes))(func(c echo.Context) error {
		var err error
		principal, err = core.Caller(c)
		return err
	})(echo.New().NewContext(request, httptest.NewRecorder()))
	return principal, err
}
