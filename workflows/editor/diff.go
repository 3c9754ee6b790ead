package editor

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// diffPage shows what a version has changed.
type diffPage struct {
	workflows.Version

	// Before is the number of the version that it is compared with.
	Before int
	Hunks  []diffHunk
	// Cut is set if a part of the diff is not shown.
	Cut bool
}

type diffHunk struct{ Lines []diffLine }

// diffLine is a line of a diff. Old and New are its numbers; 0 in the version that does not have it.
type diffLine struct {
	Sign, Tone string
	Old, New   int
	Text       string
}

const (
	// diffContext is how many lines around a change are shown.
	diffContext = 3
	// maxDiffLines and maxDiffBytes bound what a page shows, and maxDiffText the texts that are compared.
	maxDiffLines = 300
	maxDiffBytes = 24 << 10
	maxDiffText  = 512 << 10
)

// newDiff compares two texts line by line. It returns false for texts that are too large.
func newDiff(before, after string) ([]diffHunk, bool, error) {
	if len(before) > maxDiffText || len(after) > maxDiffText {
		return nil, true, nil
	}
	compared, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), diffContext)
	if err != nil {
		return nil, false, err
	}
	var hunks []diffHunk
	lines, size := 0, 0
	for _, hunk := range compared.Hunks {
		shown := diffHunk{}
		older, newer := hunk.FromLine, hunk.ToLine
		for _, line := range hunk.Lines {
			text := strings.TrimSuffix(line.Content, "\n")
			if lines, size = lines+1, size+len(text); lines > maxDiffLines || size > maxDiffBytes {
				return append(hunks, shown), true, nil
			}
			entry := diffLine{Sign: " ", Text: excerptOf(text), Old: older, New: newer}
			switch line.Kind {
			case udiff.Delete:
				entry.Sign, entry.Tone, entry.New = "−", "fail", 0
				newer--
			case udiff.Insert:
				entry.Sign, entry.Tone, entry.Old = "+", "ok", 0
				older--
			case udiff.Equal:
			}
			older, newer = older+1, newer+1
			shown.Lines = append(shown.Lines, entry)
		}
		hunks = append(hunks, shown)
	}
	return hunks, false, nil
}

// diffPage is GET /app/orgs/{org}/workflows/{id}/versions/{number}/diff/. It compares with the version before, or with
// the one that the query names.
func (a *App) diffPage(c echo.Context, principal core.Principal) error {
	number, err := strconv.ParseInt(c.Param("number"), 10, 32)
	if err != nil || number < 1 {
		return core.NotFound("version")
	}
	before := number - 1
	if text := c.QueryParam("with"); text != "" {
		if before, err = strconv.ParseInt(text, 10, 32); err != nil || before < 1 {
			return core.InvalidParameter("with", "must be the number of a version")
		}
	}
	if before < 1 {
		return core.NotFound("version")
	}
	var texts [2]string
	var versions [2]workflows.Version
	for i, n := range []int64{before, number} {
		versions[i], err = a.Workflows.Find(c.Request().Context(), principal.OrgID, c.Param("id"), int(n))
		if err != nil {
			return err
		}
		text, err := versions[i].YAML(a.Address)
		if err != nil {
			return err
		}
		texts[i] = string(text)
	}
	page := diffPage{Version: versions[1], Before: int(before)}
	if page.Hunks, page.Cut, err = newDiff(texts[0], texts[1]); err != nil {
		return err
	}
	return a.pages.Render(c, http.StatusOK, "diff", pages.Page{
		Title: "Changes of " + page.Name, Section: pages.SectionWorkflows, Data: page,
	})
}
