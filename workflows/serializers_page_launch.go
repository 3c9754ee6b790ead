package workflows

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/users"
	"github.com/simplevalidations/simplevalidations/workflows/start/body"
)

// launchPage is the form that starts a run.
type launchPage struct {
	Workflow Version
	// Action is where the form is sent to. It pins the version that the page shows.
	Action string
	// Key is the idempotency key of this one form.
	Key string
	// Accept is what the choice of files begins with.
	Accept   string
	MaxBytes int64
	Quota    quotaTile
	MayEdit  bool
	Entries  launchEntries
	Problem  *core.Error
}

// launchEntries are what a visitor has filled in, besides a file: no browser lets a page choose one.
type launchEntries struct {
	Name             string
	ShortDescription string
	Filename         string
	Text             string
	// TextTooLong says that the pasted text was too long to be kept for the form.
	TextTooLong bool
}

// entriesOf keeps what a form was filled in with, besides a file and a large text.
func entriesOf(form *body.Form) launchEntries {
	entries := launchEntries{
		Name: form.Text("name"), ShortDescription: form.Text("short_description"), Filename: form.Text("filename"),
	}
	entries.Text, entries.TextTooLong = form.Pasted()
	return entries
}

// Ready reports whether the workflow starts runs.
func (p launchPage) Ready() bool {
	return p.Workflow.IsActive && len(p.Workflow.Definition.Steps) > 0
}

// Latest reports whether the page is for the latest version.
func (p launchPage) Latest() bool { return p.Workflow.Number == p.Workflow.LatestVersion }

// quotaTile is what is left of the organization's runs.
type quotaTile struct {
	Limited  bool
	Left     int64
	Quota    int64
	ResetsAt time.Time
}

func newQuotaTile(usage users.PeriodUsage) quotaTile {
	tile := quotaTile{ResetsAt: usage.ResetsAt()}
	if usage.Quota != nil {
		tile.Limited, tile.Quota, tile.Left = true, *usage.Quota, max(*usage.Quota-usage.Used, 0)
	}
	return tile
}

// launchAction is where the form for a version is sent to.
func launchAction(base string, version Version) string {
	return base + "workflows/" + version.Slug + "/launch/?version=" + strconv.Itoa(version.Number)
}

// acceptedFiles lists the media types and the endings of names that a workflow takes, for the choice of files.
func acceptedFiles(accepts []string) string {
	return strings.Join(append(slices.Clone(accepts), mediatype.Endings(accepts)...), ",")
}

// launchedPage is what has become of a form that was sent.
type launchedPage struct {
	Workflow Version
	// RunID is the run that the form has started; nil for none.
	RunID *uuid.UUID
	// Pending says that the form is being worked on.
	Pending bool
}
