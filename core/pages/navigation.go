package pages

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// Section is an entry of the navigation.
type Section string

// The sections, in the order of the navigation.
const (
	SectionNone       Section = ""
	SectionOverview   Section = "Overview"
	SectionRuns       Section = "Runs"
	SectionWorkflows  Section = "Workflows"
	SectionKeys       Section = "Idempotency"
	SectionRequests   Section = "Requests"
	SectionUsage      Section = "Usage"
	SectionTokens     Section = "API tokens"
	SectionMembers    Section = "Members"
	SectionWebhooks   Section = "Webhooks"
	SectionAudit      Section = "Audit log"
	SectionSettings   Section = "Settings"
	SectionOperations Section = "Operations"
)

// Icon is the name of the section's symbol in static/icons.svg.
func (s Section) Icon() string { return strings.ToLower(strings.ReplaceAll(string(s), " ", "-")) }

// entry is a link of the navigation.
type entry struct {
	Title   Section
	Address string
	Current bool
}

// navigation lists what the visitor may see. Pages outside of an organization have the entries of the one that the
// visitor used last, as the way back.
func navigation(principal core.Principal, visitor Visitor, current Section) []entry {
	slug, role := principal.OrgSlug, principal.Role
	if slug == "" {
		slug, role = visitor.Home, visitor.roleIn(visitor.Home)
	}
	var entries []entry
	if slug != "" {
		base := Base(slug)
		entries = []entry{
			{Title: SectionOverview, Address: base},
			{Title: SectionRuns, Address: base + "runs/"},
			{Title: SectionWorkflows, Address: base + "workflows/"},
			{Title: SectionKeys, Address: base + "keys/"},
			{Title: SectionRequests, Address: base + "requests/"},
			{Title: SectionUsage, Address: base + "usage/"},
			{Title: SectionTokens, Address: base + "tokens/"},
			{Title: SectionMembers, Address: base + "members/"},
		}
		if role.Allows(api.RoleAdmin) {
			entries = append(entries, entry{Title: SectionWebhooks, Address: base + "webhooks/"},
				entry{Title: SectionAudit, Address: base + "audit/"})
		}
		entries = append(entries, entry{Title: SectionSettings, Address: base + "settings/"})
	}
	if visitor.Operator {
		entries = append(entries, entry{Title: SectionOperations, Address: Root + "operations/"})
	}
	for i := range entries {
		entries[i].Current = entries[i].Title == current
	}
	return entries
}
