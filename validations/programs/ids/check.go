package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/model"
)

// run is the check of one model.
type run struct {
	*model.Model

	schema    *ifc.Schema
	work      *port.Work
	collector *findings.Collector
	// classes are the objects that each facet for classes is for, by the number of their class.
	classes map[*entityFacet]*classes
	// attributes are the places of the attributes that a facet asks for, by the number of the class.
	attributes map[*attributeFacet][][]int
}

// check evaluates facets of one object.
type check struct {
	*run

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

// check checks all objects that a specification is for.
func (r *run) check(s *specification) {
	if !slices.Contains(s.versions, r.schema.Name) {
		f := findings.Failure("ids.version", fmt.Sprintf("%s is written for %s, and the model is of %s; it is checked "+
			"nevertheless",
			s.label(), strings.Join(s.versions, ", "), r.schema.Name))
		f.Severity, f.AssertionID = findings.SeverityInfo, s.id()
		r.collector.Add("", f)
	}
	found := false
	for object := range r.Len() {
		if !r.work.Spend(1) {
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
			if !q.facet.holds(&check{run: r}, object, q.cardinality) && r.work.Err() == nil {
				r.report(s, q, object)
			}
		}
	}
	if !found && s.cardinality == required && r.work.Err() == nil {
		message := fmt.Sprintf("%s: the model has no object that it applies to (%s), but at least one is required%s",
			s.label(), s.applicability(), hint(s.instructions))
		f := findings.Failure("ids.required", findings.ClipTo(message, findings.MaxMessage))
		f.AssertionID = s.id()
		r.collector.Add("", f)
	}
}

func (r *run) isApplicable(s *specification, object int) bool {
	for _, f := range s.applicable {
		if !f.holds(&check{run: r}, object, required) {
			return false
		}
	}
	return r.work.Err() == nil
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
	f.AssertionID = s.id()
	reason, instructions := "must not be in the model ("+s.applicability()+")", s.instructions
	if q != nil {
		c := &check{run: r, explains: true}
		q.facet.holds(c, object, q.cardinality)
		reason = c.reason
		if q.instructions != "" {
			instructions = q.instructions
		}
	}
	message := fmt.Sprintf("%s %s [%s]%s", r.Describe(object), reason, s.label(), hint(instructions))
	f.Message = findings.ClipTo(message, findings.MaxMessage)
	r.collector.Add(key.Group, r.Locate(f, object))
}

func hint(instructions string) string {
	if instructions == "" {
		return ""
	}
	return ". Hint: " + instructions
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
