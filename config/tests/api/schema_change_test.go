package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// The next release's migration adds a column to each table while this release answers requests. No request fails.
func TestColumnsAddedUnderLoad(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "first")).ID
	owner, session := s.Harbour.Tokens.Owner, s.Session(t, s.AddMember(t, "watcher", api.RoleOwner))
	var calls []call
	for _, path := range []string{
		"/api/me/", "/api/members/", "/api/tokens/", "/api/workflows/", "/api/workflows/building/", "/api/runs/",
		"/api/runs/" + run + "/", "/api/runs/" + run + "/findings/", "/api/usage/", "/api/audit/",
		"/api/idempotency-keys/",
	} {
		calls = append(calls, call{Path: path, Token: owner})
	}
	for _, path := range []string{"", "runs/", "runs/" + run + "/", "keys/", "workflows/", "members/", "usage/"} {
		calls = append(calls, fixture.Page("/app/orgs/harbour-energy/"+path, session))
	}
	calls = append(calls, s.Start(t, "first"), s.Start(t, ""))

	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	rounds := make(chan struct{})
	for range 4 {
		clients.Go(func() {
			for {
				for _, c := range calls {
					got, err := s.Send(context.WithoutCancel(ctx), c)
					if err != nil || got.Status >= http.StatusInternalServerError {
						t.Errorf("%s %s = %d %s, %v", c.Method, c.Path, got.Status, got.Body, err)
					}
				}
				select {
				case rounds <- struct{}{}:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	rows, err := s.DB.Pool.Query(t.Context(),
		`SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		<-rounds
		s.Prepare(t, fmt.Sprintf(`ALTER TABLE %s ADD COLUMN added_later integer`, table))
	}
	for range 4 {
		<-rounds
	}
	stop()
	clients.Wait()
	if len(tables) < 15 {
		t.Errorf("changed %d tables, want all of them", len(tables))
	}
}
