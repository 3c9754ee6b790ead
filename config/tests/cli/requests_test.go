package cli

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

func TestRequestsCommands(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	ctx := t.Context()
	start := s.Start(t, "listed")
	s.Must(t, http.StatusCreated, start)
	s.Must(t, http.StatusCreated, start)
	s.Must(t, http.StatusUnprocessableEntity, start.WithBody("text/csv", "other"))
	s.FlushRequests(t)
	d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer)
	d.run(ctx, "requests", "list").want(t, 0, "201", "422", "idempotency_key_reused", "listed", "meter-readings/start/")
	d.run(ctx, "requests", "list", "--status", "4xx", "--json").want(t, 0, `"status": 422`)
	d.run(ctx, "requests", "list", "--status", "no").want(t, 2, "status")
}
