package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

// Report reports what is wrong with the model itself, so that nothing passes for that reason.
func (m *Model) Report(to *findings.Collector) {
	keywords := make([]string, 0, len(m.unknown))
	for keyword := range m.unknown {
		keywords = append(keywords, keyword)
	}
	slices.Sort(keywords)
	for _, keyword := range keywords {
		message := fmt.Sprintf("not evaluated: %s has no class %s, but the model has %s of it",
			m.schema.Name, findings.Quote(keyword), findings.Plural(m.unknown[keyword], "object", "objects"))
		f := findings.Failure("step.class", message)
		f.Count = m.unknown[keyword]
		to.Add("", f)
	}
	slices.SortFunc(m.dangling, func(a, b dangling) int { return cmp.Or(a.from-b.from, cmp.Compare(a.to, b.to)) })
	for _, d := range m.dangling {
		f := findings.Failure("step.reference", fmt.Sprintf("%s refers to #%d, which is not in the file",
			m.Describe(d.from), d.to))
		to.Add("", m.Locate(f, d.from))
	}
	if m.danglingMore > 0 {
		to.AddUnlisted(findings.Key{Code: "step.reference", Severity: findings.SeverityError}, m.danglingMore)
	}
}

// Describe names an object by its class and its name.
func (m *Model) Describe(object int) string {
	class := m.Class(object).Title
	if name := m.text(object, "Name"); name != "" {
		return class + " " + findings.Quote(name)
	}
	return fmt.Sprintf("%s #%d", class, m.file.At(object).ID)
}

// guid is the GlobalId of an object, and its name in the file where it has none.
func (m *Model) guid(object int) string {
	if guid := m.text(object, "GlobalId"); guid != "" {
		return findings.Clip(guid)
	}
	return fmt.Sprintf("#%d", m.file.At(object).ID)
}

// Locate makes a finding one of an object.
func (m *Model) Locate(f port.Finding, object int) port.Finding {
	f.Path = m.guid(object)
	return located(f, m.place(object))
}

// place is where an object begins.
func (m *Model) place(object int) step.Place {
	return m.file.At(object).Place()
}

// located fills in the place of a finding, from which the service cuts the excerpt.
func located(f port.Finding, at step.Place) port.Finding {
	f.Line, f.Column, f.Offset = at.Line, at.Column, &at.Offset
	return f
}
