package admin

import (
	"net/url"

	"github.com/simplevalidations/simplevalidations/core"
)

// values encodes the filters that are set, for links.
func (f EntryFilter) values() url.Values {
	values := url.Values{}
	for name, value := range map[string]string{
		"q": f.Search, "key": f.Key, "endpoint": f.Endpoint, "state": f.State,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

// filterChip names a filter that is set, and leads to the list without it.
type filterChip struct {
	Text, Address string
}

func newFilterChips(filter EntryFilter) []filterChip {
	state := ""
	if filter.State != "" {
		state = pillOf(Entry{State: State(filter.State)}).Text
	}
	var chips []filterChip
	for _, set := range []struct{ name, label, text string }{
		{"q", "Contains", filter.Search},
		{"key", "Key", filter.Key},
		{"endpoint", "Operation", filter.Endpoint},
		{"state", "State", state},
	} {
		if set.text == "" {
			continue
		}
		rest := filter.values()
		rest.Del(set.name)
		chips = append(chips, filterChip{Text: set.label + ": " + set.text, Address: "?" + rest.Encode()})
	}
	return chips
}

// Filtered reports whether a filter is set.
func (p *keysPage) Filtered() bool { return p.Filter != EntryFilter{} }

// selectable offers to release the keys that are stuck, to those who may.
func (p *keysPage) selectable(principal core.Principal) {
	if !principal.Role.Allows(core.RoleAdmin) {
		return
	}
	for i, row := range p.Results {
		p.Results[i].Selectable = row.isStuck()
		p.Selects = p.Selects || row.isStuck()
	}
}

// isStuck reports whether the key can be released.
func (e Entry) isStuck() bool { return e.State == StateAbandoned || e.State == StateDead }
