package program

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Enroll makes an organization whose owner has all its tokens, and which has a workflow of its own for the order that
// Building makes.
func (i *Installation) Enroll(tb testing.TB, base, slug string) Tenant {
	tb.Helper()
	execute := func(args ...string) string {
		return strings.TrimSpace(Execute(tb, i.Settings, "", args...))
	}
	id, err := uuid.Parse(execute("org", "create", slug))
	if err != nil {
		tb.Fatalf("read the id of an organization: %v", err)
	}
	owner := "owner@" + slug + ".example"
	execute("user", "create", owner, "--org", slug, "--role", "owner")
	t := Tenant{ID: id, Slug: slug}
	t.Tokens.Owner = execute("admin", "token", "create", "--org", slug, "--user", owner, "--role", "owner")
	t.Tokens.Executor, t.Tokens.Viewer = t.Tokens.Owner, t.Tokens.Owner
	NewClient(tb, t.Tokens.Owner).Create(tb, base+"/api/workflows/",
		`{"slug":"building","name":"Building","is_active":true,"definition":{`+
			`"accepts":["application/json"],"steps":[{"id":"shape","name":"Shape","type":"json_schema",`+
			`"config":{"schema":{"type":"object"}}}]}}`)
	return t
}
