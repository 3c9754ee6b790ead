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
