package docs

import (
	"fmt"
	"slices"
	"strings"
)

// contents returns the table of contents: every page once, in the order in which they are best read.
func contents() ([]part, error) {
	names, err := Pages()
	if err != nil {
		return nil, err
	}
	plan := outline()
	for _, name := range names {
		if slices.ContainsFunc(plan, func(p part) bool { return slices.Contains(p.pages, name) }) {
			continue
		}
		i := partOf(plan, name)
		if i < 0 {
			return nil, fmt.Errorf("page %s belongs to no chapter", name)
		}
		plan[i].pages = append(plan[i].pages, name)
	}
	return plan, nil
}

// part is a chapter: the pages that it begins with, and the folder whose other pages follow.
type part struct {
	title  string
	folder string
	pages  []string
	// folded is set for a chapter that is too long to be shown on each page, and that its folder stands for.
	folded bool
}

func outline() []part {
	return []part{
		{
			title: "Start here",
			pages: []string{"guides/tutorial", "guides/retries", "guides/pipelines", "guides/idemcheck"},
		},
		{
			title: "Guides", folder: "guides/",
			pages: []string{
				"guides/dashboard", "guides/idempotency", "guides/runs", "guides/workflows", "guides/roles",
				"guides/quotas", "guides/webhooks", "guides/clients",
			},
		},
		{title: "Validators", folder: "guides/validators/", pages: []string{"guides/validators"}},
		{title: "Reference", pages: []string{"guides/cli", "guides/configuration", "changelog"}},
		{
			title: "Operators",
			pages: []string{
				"guides/operators", "guides/deployment", "guides/one-machine-to-many", "guides/metrics",
				"guides/security",
			},
		},
		{
			title: "Design",
			pages: []string{"guides/guarantees", "guides/architecture", "guides/performance"},
		},
		{title: "Decisions", folder: "adr/"},
		{title: "Errors", folder: "errors/", folded: true},
	}
}

// partOf finds the part with the innermost folder of the page, or -1.
func partOf(plan []part, name string) int {
	found := -1
	for i, p := range plan {
		inside := p.folder != "" && strings.HasPrefix(name, p.folder)
		if inside && (found < 0 || len(p.folder) > len(plan[found].folder)) {
			found = i
		}
	}
	return found
}
