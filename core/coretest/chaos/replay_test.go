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
)

// asMultipart sends the document of an order as a file, between boundaries as given.
func asMultipart(tb testing.TB, o order, boundary string) order {
	tb.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.SetBoundary(boundary); err != nil {
		tb.Fatalf("set boundary: %v", err)
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="document"`}, "Content-Type": {o.mediaType},
	})
	if err == nil {
		_, err = part.Write(o.body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatalf("write a form: %v", err)
	}
	o.mediaType, o.body = w.FormDataContentType(), body.Bytes()
	return o
}

func TestReplays(t *testing.T) {
	t.Parallel()
	i := install(t)
	one, other := serve(t, i.settings), serve(t, i.settings)
	c := newClient(t, i.harbour.Tokens.Executor)

	t.Run("NeverTheRunOfAnotherWorkflow", func(t *testing.T) {
		t.Parallel()
		o := building(t, "workflow")
		first := c.start(t, one.url(), o)
		wantCreated(t, first)
		o.workflow = "meter-readings"
		refusal := c.start(t, other.url(), o)
		p := wantProblem(t, refusal, http.StatusUnprocessableEntity, core.CodeKeyReused)
		if want := []string{"workflow"}; !slices.Equal(p.Differs, want) {
			t.Errorf("differs = %v, want %v", p.Differs, want)
		}
		if bytes.Contains(refusal.body, []byte(first.run(t).String())) {
			t.Errorf("the refusal tells of the other workflow's run: %s", refusal.body)
		}
	})

	t.Run("WhateverTheBoundary", func(t *testing.T) {
		t.Parallel()
		o := readings(t, "boundary")
		first := c.start(t, one.url(), asMultipart(t, o, "one-boundary"))
		wantCreated(t, first)
		wantReplay(t, c.start(t, other.url(), asMultipart(t, o, "another-boundary")), first)
	})

	t.Run("TheSameEverywhereAndAfterARestart", func(t *testing.T) {
		t.Parallel()
		s := serve(t, i.settings)
		o := readings(t, "restart")
		first := c.start(t, s.url(), o)
		wantCreated(t, first)
		wantReplay(t, c.start(t, one.url(), o), first)
		wantReplay(t, c.start(t, other.url(), o), first)
		s.signal(t, syscall.SIGTERM)
		if got := s.exitCode(t); got != 0 {
			t.Errorf("exit code = %d, want 0", got)
		}
		s = s.again(t, i.settings)
		wantReplay(t, c.start(t, s.url(), o), first)
		await(t, "the run completes", func() bool {
			return count(t, i.db, "SELECT count(*) FROM validation_runs WHERE id = $1 AND state = 'COMPLETED'",
				first.run(t)) == 1
		})
		wantReplay(t, c.start(t, s.url(), o), first)
	})
}

func TestReplaysNeedTodaysRights(t *testing.T) {
	t.Parallel()
	const member = "org_id = $1 AND user_id = (SELECT id FROM users WHERE email = $2)"
	for _, tt := range []struct {
		name, statement string
		args            func(tenant) []any
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
			i := install(t)
			servers := []*server{serve(t, i.settings), serve(t, i.settings)}
			c := newClient(t, i.harbour.Tokens.Executor)
			o := building(t, "rights")
			first := c.start(t, servers[0].url(), o)
			wantCreated(t, first)
			for _, s := range servers {
				wantReplay(t, c.start(t, s.url(), o), first)
			}
			change(t, i.db, tt.statement, tt.args(i.harbour)...)
			for _, s := range servers {
				refusal := c.start(t, s.url(), o)
				wantProblem(t, refusal, tt.status, tt.code)
				if bytes.Contains(refusal.body, []byte(first.run(t).String())) {
					t.Errorf("the refusal tells of the run: %s", refusal.body)
				}
			}
			checkAtRest(t, i.db)
		})
	}
}

func demoExecutor(org tenant) []any {
	return []any{org.ID, "executor@" + org.Slug + ".example"}
}
