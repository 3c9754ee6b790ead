package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
)

// run is the check of one model.
type run struct {
	model     *model
	collector *findings.Collector
}

// check evaluates facets of one object.
type check struct {
	*model
	// explains says that the reason is wanted where a facet does not hold.
	explains bool
	reason   string
}

// fails notes why a facet does not hold, and returns false. It stands behind c.explains, so that no message is made for
// what is only counted.
func (c *check) fails(format string, values ...any) bool {
	c.reason = fmt.Sprintf(format, values...)
	return false
}

// reportModel reports what is wrong with the model itself, so that nothing passes for that reason.
func (r *run) reportModel() {
	m := r.model
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
		r.collector.Add("", f)
	}
	slices.SortFunc(m.dangling, func(a, b dangling) int { return cmp.Or(a.from-b.from, cmp.Compare(a.to, b.to)) })
	for _, d := range m.dangling {
		f := findings.Failure("step.reference", fmt.Sprintf("%s refers to #%d, which is not in the file",
			m.describe(d.from), d.to))
		f.Path = m.guid(d.from)
		r.collector.Add("", located(f, m.place(d.from)))
	}
	if m.danglingMore > 0 {
		r.collector.AddUnlisted(findings.Key{Code: "step.reference", Severity: findings.SeverityError}, m.danglingMore)
	}
}

// check checks all objects that a specification is for.
func (r *run) check(s *specification) {
	m := r.model
	if !slices.Contains(s.versions, m.schema.Name) {
		f := findings.Failure("ids.version", fmt.Sprintf("%s is written for %s, and the model is of %s; it is checked "+
			"nevertheless",
			s.label(), strings.Join(s.versions, ", "), m.schema.Name))
		f.Severity, f.AssertionID = findings.SeverityInfo, s.id()
		r.collector.Add("", f)
	}
	found := false
	for object := range m.file.Len() {
		if !m.work.spend(1) {
			return
		}
		if !r.isApplicable(s, object) {
			continue
		}
		found = true
		if s.cardinality == prohibited {
			r.report(s, nil, object)
			continue
		}
		for _, q := range s.requirements {
			if !q.facet.holds(&check{model: m}, object, q.cardinality) && m.work.err == nil {
				r.report(s, q, object)
			}
		}
	}
	if !found && s.cardinality == required && m.work.err == nil {
		message := fmt.Sprintf("%s: the model has no object that it applies to (%s), but at least one is required%s",
			s.label(), s.applicability(), hint(s.instructions))
		f := findings.Failure("ids.required", findings.ClipTo(message, findings.MaxMessage))
		f.AssertionID = s.id()
		r.collector.Add("", f)
	}
}

func (r *run) isApplicable(s *specification, object int) bool {
	for _, f := range s.applicable {
		if !f.holds(&check{model: r.model}, object, required) {
			return false
		}
	}
	return r.model.work.err == nil
}

// report adds the finding of an object that does not have what a requirement asks for, or that must not be there at
// all.
func (r *run) report(s *specification, q *requirement, object int) {
	key := s.key
	if q != nil {
		key = q.key
	}
	if r.collector.Full(key) {
		r.collector.AddUnlisted(key, 1)
		return
	}
	f := findings.Failure(key.Code, "")
	f.Path, f.AssertionID = r.model.guid(object), s.id()
	reason, instructions := "must not be in the model ("+s.applicability()+")", s.instructions
	if q != nil {
		c := &check{model: r.model, explains: true}
		q.facet.holds(c, object, q.cardinality)
		reason = c.reason
		if q.instructions != "" {
			instructions = q.instructions
		}
	}
	message := fmt.Sprintf("%s %s [%s]%s", r.model.describe(object), reason, s.label(), hint(instructions))
	f.Message = findings.ClipTo(message, findings.MaxMessage)
	r.collector.Add(key.Group, located(f, r.model.place(object)))
}

func hint(instructions string) string {
	if instructions == "" {
		return ""
	}
	return ". Hint: " + instructions
}

// describe names an object by its class and its name.
func (m *model) describe(object int) string {
	class := m.class(object).Title
	if name := m.text(object, "Name"); name != "" {
		return class + " " + findings.Quote(name)
	}
	return fmt.Sprintf("%s #%d", class, m.file.At(object).ID)
}

// guid is the GlobalId of an object, and its name in the file where it has none.
func (m *model) guid(object int) string {
	if guid := m.text(object, "GlobalId"); guid != "" {
		return findings.Clip(guid)
	}
	return fmt.Sprintf("#%d", m.file.At(object).ID)
}

// applicability says which objects a specification is for.
func (s *specification) applicability() string {
	if len(s.applicable) == 0 {
		return "any object"
	}
	var words []string
	for _, f := range s.applicable {
		words = append(words, f.words())
	}
	return strings.Join(words, ", ")
}

// promises are what a specification demands.
func (s *specification) promises() []port.Promise {
	switch {
	case s.cardinality == prohibited:
		return []port.Promise{{Subject: s.label(), Words: "no object in the model: " + s.applicability()}}
	case len(s.requirements) == 0:
		return []port.Promise{{Subject: s.label(), Words: string(s.cardinality) + ": " + s.applicability()}}
	}
	var promises []port.Promise
	for _, q := range s.requirements {
		words := fmt.Sprintf("%s for %s: %s", q.cardinality, s.applicability(), q.facet.words())
		promises = append(promises, port.Promise{Subject: s.label(), Words: words, Otherwise: q.instructions})
	}
	return promises
}
