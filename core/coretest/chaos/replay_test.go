package chaos

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// asMultipart sends the document of an order as a file, between boundaries as given.
func asMultipart(tb testing.TB, o program.Order, boundary string) program.Order {
	tb.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.SetBoundary(boundary); err != nil {
		tb.Fatalf("set boundary: %v", err)
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="document"`}, "Content-Type": {o.MediaType},
	})
	if err == nil {
		_, err = part.Write(o.Body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatalf("write a form: %v", err)
	}
	o.MediaType, o.Body = w.FormDataContentType(), body.Bytes()
	return o
}

func TestReplays(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	one, other := program.Serve(t, i.Settings), program.Serve(t, i.Settings)
	c := program.NewClient(t, i.Harbour.Tokens.Executor)

	t.Run("NeverTheRunOfAnotherWorkflow", func(t *testing.T) {
		t.Parallel()
		o := program.Building(t, "workflow")
		first := c.Start(t, one.URL(), o)
		program.WantCreated(t, first)
		o.Workflow = "meter-readings"
		refusal := c.Start(t, other.URL(), o)
		p := program.WantProblem(t, refusal, http.StatusUnprocessableEntity, core.CodeKeyReused)
		if want := []string{"workflow"}; !slices.Equal(p.Differs, want) {
			t.Errorf("differs = %v, want %v", p.Differs, want)
		}
		if bytes.Contains(refusal.Body, []byte(first.Run(t).String())) {
			t.Errorf("the refusal tells of the other workflow's run: %s", refusal.Body)
		}
	})

	t.Run("WhateverTheBoundary", func(t *testing.T) {
		t.Parallel()
		o := program.Readings(t, "boundary")
		first := c.Start(t, one.URL(), asMultipart(t, o, "one-boundary"))
		program.WantCreated(t, first)
		program.WantReplay(t, c.Start(t, other.URL(), asMultipart(t, o, "another-boundary")), first)
	})

	t.Run("TheSameEverywhereAndAfterARestart", func(t *testing.T) {
		t.Parallel()
		s := program.Serve(t, i.Settings)
		o := program.Readings(t, "restart")
		first := c.Start(t, s.URL(), o)
		program.WantCreated(t, first)
		program.WantReplay(t, c.Start(t, one.URL(), o), first)
		program.WantReplay(t, c.Start(t, other.URL(), o), first)
		s.Signal(t, syscall.SIGTERM)
		if got := s.ExitCode(t); got != 0 {
			t.Errorf("exit code = %d, want 0", got)
		}
		s = s.Again(t, i.Settings)
		program.WantReplay(t, c.Start(t, s.URL(), o), first)
		program.Await(t, "the run completes", func() bool {
			return program.Count(t, i.DB, "SELECT count(*) FROM validation_runs WHERE id = $1 AND state = 'COMPLETED'",
				first.Run(t)) == 1
		})
		program.WantReplay(t, c.Start(t, s.URL(), o), first)
	})
}

func TestReplaysNeedTodaysRights(t *testing.T) {
	t.Parallel()
	const member = "org_id = $1 AND user_id = (SELECT id FROM users WHERE email = $2)"
	for _, tt := range []struct {
		name, statement string
		args            func(program.Tenant) []any
		status          int
		code            core.Code
	}{
		{
			"LostRole", "UPDATE memberships SET role = 'viewer' WHERE " + member, demoExecutor,
			http.StatusForbidden, core.CodePermissionDenied,
		},
		{
			"LostMembership", "DELETE FROM memberships WHERE " + member, demoExecutor,
			http.StatusForbidden, core.CodePermissionDenied,
		},
		{
			"RevokedToken", "UPDATE api_tokens SET revoked_at = now() WHERE " + member, demoExecutor,
			http.StatusUnauthorized, core.CodeNotAuthenticated,
		},
		{
			"ExpiredToken", "UPDATE api_tokens SET expires_at = now() WHERE " + member, demoExecutor,
			http.StatusUnauthorized, core.CodeNotAuthenticated,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := program.Install(t)
			servers := []*program.Server{program.Serve(t, i.Settings), program.Serve(t, i.Settings)}
			c := program.NewClient(t, i.Harbour.Tokens.Executor)
			o := program.Building(t, "rights")
			first := c.Start(t, servers[0].URL(), o)
			program.WantCreated(t, first)
			for _, s := range servers {
				program.WantReplay(t, c.Start(t, s.URL(), o), first)
			}
			program.Change(t, i.DB, tt.statement, tt.args(i.Harbour)...)
			for _, s := range servers {
				refusal := c.Start(t, s.URL(), o)
				program.WantProblem(t, refusal, tt.status, tt.code)
				if bytes.Contains(refusal.Body, []byte(first.Run(t).String())) {
					t.Errorf("the refusal tells of the run: %s", refusal.Body)
				}
			}
			program.CheckAtRest(t, i.DB)
		})
	}
}

func demoExecutor(org program.Tenant) []any {
	return []any{org.ID, "executor@" + org.Slug + ".example"}
}
