package main

import (
	"slices"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/model"
)

func (f *classificationFacet) holds(c *check, object int, as cardinality) bool {
	classifications := c.Classifications(object)
	at := slices.IndexFunc(classifications,
		func(a model.Classification) bool { return f.isOfSystem(c, a) && f.accepts(c, a) })
	switch {
	case (at >= 0) != (as == prohibited), as == optional && len(classifications) == 0:
		return true
	case as == prohibited:
		a := classifications[at]
		return c.explains && c.fails("is classified by %s%s, which is prohibited",
			findings.Quote(a.System), codesNote(a.Codes))
	default:
		return c.explains && f.explain(c, classifications)
	}
}

// explain records why no classification matches, and returns false.
func (f *classificationFacet) explain(c *check, classifications []model.Classification) bool {
	var codes []string
	inSystem := false
	for _, a := range classifications {
		if f.isOfSystem(c, a) {
			inSystem = true
			codes = append(codes, a.Codes...)
		}
	}
	if !inSystem {
		return c.fails("has no %s", f.words())
	}
	return c.fails("is classified by %s%s; required: %s", f.system, codesNote(codes), f.value)
}

func (f *classificationFacet) isOfSystem(c *check, a model.Classification) bool {
	return a.System != "" && f.system.matchesText(c.work, a.System)
}

// accepts says whether one of the codes of a classification will do.
func (f *classificationFacet) accepts(c *check, a model.Classification) bool {
	return f.value == nil ||
		slices.ContainsFunc(a.Codes, func(code string) bool { return f.value.matchesText(c.work, code) })
}

func codesNote(codes []string) string {
	if len(codes) == 0 {
		return " without a code"
	}
	var quoted []string
	for _, code := range codes {
		quoted = append(quoted, findings.Quote(code))
	}
	return " as " + listed(quoted)
}
