package pages_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

func TestExport(t *testing.T) {
	t.Parallel()
	endless := func(context.Context, core.Cursor) (core.Scanned[string], error) {
		return core.Scanned[string]{Found: slices.Repeat([]string{"a"}, pages.ExportPage+1)}, nil
	}
	id := uuid.New()
	export := func(
		confirm func() error, list func(context.Context, core.Cursor) (core.Scanned[string], error),
	) (*httptest.ResponseRecorder, error) {
		access := core.Access{Confirm: func(context.Context) error { return confirm() }}
		request := httptest.NewRequestWithContext(core.WithAccess(t.Context(), access), http.MethodGet, "/", nil)
		answer := httptest.NewRecorder()
		return answer, pages.Export(echo.New().NewContext(request, answer), "runs.csv", []string{"id"}, core.Cursor{},
			func(string) uuid.UUID { return id }, list,
			func(_ context.Context, items []string) ([][]string, error) {
				rows := make([][]string, len(items))
				for i, item := range items {
					rows[i] = []string{item}
				}
				return rows, nil
			})
	}
	t.Run("EndsAfterItsMostRows", func(t *testing.T) {
		t.Parallel()
		answer, err := export(func() error { return nil }, endless)
		if lines := strings.Count(answer.Body.String(), "\r\n"); err != nil || lines != 50_001 {
			t.Errorf("lines = %d, error %v; want a header and 50,000 rows", lines, err)
		}
	})
	t.Run("EndsWithTheAccess", func(t *testing.T) {
		t.Parallel()
		refused, asked := errors.New("the access has ended"), 0
		answer, err := export(func() error {
			asked++
			if asked == 1 {
				return nil
			}
			return refused
		}, endless)
		lines := strings.Count(answer.Body.String(), "\r\n")
		if want := 1 + 2*pages.ExportPage; !errors.Is(err, refused) || lines != want {
			t.Errorf("lines = %d, error %v; want %d and %v", lines, err, want, refused)
		}
	})
	t.Run("AnswersAnErrorOnTheFirstRows", func(t *testing.T) {
		t.Parallel()
		failed := errors.New("the database is away")
		away := func(context.Context, core.Cursor) (core.Scanned[string], error) {
			return core.Scanned[string]{}, failed
		}
		answer, err := export(func() error { return nil }, away)
		if !errors.Is(err, failed) || answer.Body.Len() > 0 {
			t.Errorf("body %q, error %v; want none and %v", answer.Body, err, failed)
		}
	})
}
