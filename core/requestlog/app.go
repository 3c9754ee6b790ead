package requestlog

import (
	"embed"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

//go:embed templates/requests/*.html
var templates embed.FS

// App shows an organization's requests over the API and on the dashboard.
type App struct {
	reader     *Reader
	tokens     Tokens
	check      *core.Validator
	operations idempotency.Operations
	pages      *pages.Set
}

// NewApp makes the app.
func NewApp(
	reader *Reader, tokens Tokens, check *core.Validator, operations idempotency.Operations,
) (*App, error) {
	set, err := pages.Parse(templates, "templates/requests")
	if err != nil {
		return nil, err
	}
	return &App{reader: reader, tokens: tokens, check: check, operations: operations, pages: set}, nil
}
