package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/share"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/start"
)

// byOrg is the context of a member of an organization.
func byOrg(tb testing.TB, org uuid.UUID) context.Context {
	tb.Helper()
	return core.WithPrincipal(tb.Context(), core.Principal{OrgID: org})
}

func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	service := NewService(nil, nil, core.NewValidator())
	app, err := New(Deps{Service: service, Starter: new(start.Starter)})
	if err != nil {
		t.Fatal(err)
	}
	service.checks.places, service.checks.wait = share.New(1, 1, 1), time.Millisecond
	org := uuid.New()
	leave, err := service.checks.places.Take(t.Context(), org, 0)
	if err != nil {
		t.Fatal(err)
	}
	draft := Draft{Slug: "x", Name: "x", Definition: validations.Definition{Accepts: []string{"text/csv"}}}
	attempts := map[string]func(ctx context.Context) error{
		"a draft":      func(ctx context.Context) error { return service.validate(ctx, draft) },
		"a definition": func(ctx context.Context) error { return service.checkDefinition(ctx, draft.Definition) },
		"a file": func(ctx context.Context) error {
			_, _, err := app.files.Parse(ctx, []byte(newWorkflowText))
			return err
		},
	}
	for name, check := range attempts {
		if err := check(byOrg(t, org)); !core.HasCode(err, core.CodeUnavailable) {
			t.Errorf("%s while the place is taken = %v, want %s", name, err, core.CodeUnavailable)
		}
		if err := check(byOrg(t, uuid.New())); err != nil {
			t.Errorf("%s of another organization = %v, want none", name, err)
		}
		if err := check(t.Context()); err != nil {
			t.Errorf("%s of the operator = %v, want none", name, err)
		}
	}
	leave()
	for name, check := range attempts {
		if err := check(byOrg(t, org)); err != nil {
			t.Errorf("%s on the place that is free again = %v, want none", name, err)
		}
	}
}

func TestCheckThatTakesTooLong(t *testing.T) {
	t.Parallel()
	endless := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	c := newChecks()
	c.time = time.Millisecond
	if err := c.run(byOrg(t, uuid.New()), endless); !core.HasCode(err, core.CodeInvalidPayload) {
		t.Errorf("error = %v, want %s", err, core.CodeInvalidPayload)
	}
	// Whoever has gone is told nothing, and has not done anything wrong.
	ctx, cancel := context.WithCancel(byOrg(t, uuid.New()))
	cancel()
	if err := newChecks().run(ctx, endless); core.HasCode(err, core.CodeInvalidPayload) {
		t.Errorf("error = %v, want that of the context", err)
	}
}

// The steps of one definition are not checked on once its time is over.
func TestCheckOfADefinitionEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	definition := validations.Definition{Steps: []validations.Step{{Type: "table", Config: []byte(`{}`)}}}
	if _, err := definition.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}
