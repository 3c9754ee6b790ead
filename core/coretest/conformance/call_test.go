package conformance

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// call is a request. Its methods return changed copies.
type call struct {
	method, path string
	header       http.Header
	body         string
}

func (c call) with(name string, values ...string) call {
	c.header = maps.Clone(c.header)
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	return c
}

func (c call) without(name string) call {
	c.header = maps.Clone(c.header)
	c.header.Del(name)
	return c
}

func (c call) key(key string) call    { return c.with("Idempotency-Key", key) }
func (c call) by(token string) call   { return c.with("Authorization", "Bearer "+token) }
func (c call) named(name string) call { return c.with("X-Filename", name) }

func (c call) to(path string) call {
	c.path = path
	return c
}

func (c call) sending(mediaType, body string) call {
	c = c.with("Content-Type", mediaType)
	c.body = body
	return c
}

func (c call) json(body string) call { return c.sending("application/json", body) }
func (c call) csv(body string) call  { return c.sending("text/csv", body) }

func (c call) request(tb testing.TB, base string) *http.Request {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), c.method, base+c.path, bytes.NewBufferString(c.body))
	if err != nil {
		tb.Fatalf("make a request: %v", err)
	}
	request.Header = c.header.Clone()
	return request
}

// The addresses of starts.
const (
	startBuilding = "/api/workflows/building/start/"
	startReadings = "/api/workflows/meter-readings/start/"
	startReport   = "/api/workflows/site-report/start/"
)

// start is a start of a run with the test's name for a key.
func (s *site) start(t *testing.T) call {
	t.Helper()
	c := call{method: http.MethodPost, path: startBuilding}.by(s.Harbour.Tokens.Executor).key(t.Name())
	return c.json(string(program.Sample(t, "good/building.json")))
}

// startIn is a start of the workflow of site reports.
func (s *site) startIn(t *testing.T, o organization) call {
	t.Helper()
	return s.start(t).to(startReport).by(o.owner).json(`{"site":"A"}`)
}

// creation is the creation of a workflow.
func creation(slug string) call {
	return call{method: http.MethodPost, path: "/api/workflows/"}.json(`{"slug":"` + slug + `","name":"Site report",` +
		`"is_active":true,"definition":` + definition("site") + `}`)
}

// importOf is the import of a workflow's file.
func importOf(slug string) call {
	return call{method: http.MethodPost, path: "/api/workflows/import/"}.sending("application/yaml",
		"schema_version: 1\nslug: "+slug+"\nname: Site report\naccepts: [application/json]\nsteps: "+
			"[{id: shape, name: Shape, type: json_schema, config: {schema: {required: [site]}}}]\n")
}

// addition is a request that adds a member.
func addition(email string) call {
	return call{method: http.MethodPost, path: "/api/members/"}.json(`{"email":"` + email + `","role":"viewer"}`)
}

// definition is one that takes JSON objects with the member.
func definition(member string) string {
	return `{"accepts":["application/json"],"steps":[{"id":"shape","name":"Shape","type":"json_schema",` +
		`"config":{"schema":{"type":"object","required":["` + member + `"]}}}]}`
}
