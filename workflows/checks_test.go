package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

// byOrg is the context of a member of an organization.
func byOrg(tb testing.TB, org uuid.UUID) context.Context {
	tb.Helper()
	return core.WithPrincipal(tb.Context(), core.Principal{OrgID: org})
}

func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	service := NewService(nil, nil, core.NewValidator())
	service.checks = files.ChecksOf(1, time.Millisecond, time.Minute)
	parser, err := service.NewParser()
	if err != nil {
		t.Fatal(err)
	}
	org := uuid.New()
	entered, left, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- service.checks.Run(byOrg(t, org), func(context.Context) error {
			close(entered)
			<-left
			return nil
		})
	}()
	<-entered
	draft := Draft{Slug: "x", Name: "x", Definition: validations.Definition{Accepts: []string{"text/csv"}}}
	attempts := map[string]func(ctx context.Context) error{
		"a draft":      func(ctx context.Context) error { return service.validate(ctx, draft) },
		"a definition": func(ctx context.Context) error { return service.checkDefinition(ctx, draft.Definition) },
		"a file": func(ctx context.Context) error {
			_, _, err := parser.Parse(ctx, []byte("slug: x"))
			return err
		},
	}
	for name, check := range attempts {
		if err := check(byOrg(t, org)); !errors.Is(err, api.CodeUnavailable) {
			t.Errorf("%s while the place is taken = %v, want %s", name, err, api.CodeUnavailable)
		}
		if err := check(byOrg(t, uuid.New())); err != nil {
			t.Errorf("%s of another organization = %v, want none", name, err)
		}
		if err := check(t.Context()); err != nil {
			t.Errorf("%s of the operator = %v, want none", name, err)
		}
	}
	close(left)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for name, check := range attempts {
		if err := check(byOrg(t, org)); err != nil {
			t.Errorf("%s on the place that is free again = %v, want none", name, err)
		}
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
