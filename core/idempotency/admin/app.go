// Package admin shows people what their idempotency keys were used for, and lets administrators free stuck keys.
//
// It is the app beside the engine in core/idempotency: urls.go lists its routes, api.go has the API views, and each
// page_*.go has a page with its view model. Inspector reads keys for these views, for the commands and for the pages of
// other apps. Activity records what the engine's Guard reports, and writes it to tables of its own.
//
// The engine never reads these tables, so what they hold may lag or be lost without a consequence for any request.
package admin

import (
	"embed"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/core/requestlog"
)

//go:embed templates/admin/*.html
var templates embed.FS

// UnkeyedRunFinder finds runs that were started without a key. The app that owns the runs implements it, because this
// package stands below it and cannot ask it.
type UnkeyedRunFinder interface {
	// QueueUnkeyedRuns adds the look-ups to the reads. found is complete when the reads are done.
	QueueUnkeyedRuns(reads *db.Reads, orgID uuid.UUID, found *UnkeyedRuns)
}

// App shows an organization's keys over the API and on the dashboard.
type App struct {
	inspector *Inspector
	check     *core.Validator
	unkeyed   UnkeyedRunFinder
	tokens    requestlog.Tokens
	pages     *pages.Set
}

// New makes the app.
func New(
	inspector *Inspector, check *core.Validator, unkeyed UnkeyedRunFinder, tokens requestlog.Tokens,
) (*App, error) {
	set, err := pages.Parse(templates, "templates/admin")
	if err != nil {
		return nil, err
	}
	return &App{inspector: inspector, check: check, unkeyed: unkeyed, tokens: tokens, pages: set}, nil
}
