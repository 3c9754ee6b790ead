package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// buildingOf returns a document with so many storeys and zones, each zone on a storey.
func buildingOf(tb testing.TB, storeys, zones int) []byte {
	tb.Helper()
	type storey struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	type zone struct {
		ID     string  `json:"id"`
		Storey string  `json:"storey"`
		Area   float64 `json:"area"`
	}
	document := struct {
		Storeys []storey `json:"storeys"`
		Zones   []zone   `json:"zones"`
	}{}
	for i := range storeys {
		document.Storeys = append(document.Storeys, storey{fmt.Sprintf("storey-%04d-of-the-main-building", i), "x"})
	}
	for i := range zones {
		at := fmt.Sprintf("storey-%04d-of-the-main-building", i%storeys)
		document.Zones = append(document.Zones, zone{fmt.Sprintf("zone-%06d", i), at, float64(i) + 0.5})
	}
	content, err := json.Marshal(document)
	if err != nil {
		tb.Fatalf("write the document: %v", err)
	}
	return content
}

// TestJoins evaluates rules with two loops, and those with one loop at each place, on documents of buildings' sizes.
func TestJoins(t *testing.T) {
	t.Parallel()
	sizes := []struct{ storeys, zones int }{{10, 100}, {60, 5000}, {200, 2000}, {1000, 1000}}
	for _, size := range sizes {
		document := buildingOf(t, size.storeys, size.zones)
		for _, rule := range []string{
			`"path": "/storeys", "assert": "value.all(s, doc.zones.exists(z, z.storey == s.id))"`,
			`"assert": "doc.zones.all(z, z.storey in doc.storeys.map(s, s.id))"`,
			`"assert": "cel.bind(ids, doc.storeys.map(s, s.id), doc.zones.all(z, z.storey in ids))"`,
			`"path": "/storeys", "assert": "value.all(a, value.all(b, a.id == b.id || a.name == b.name))"`,
			`"path": "/storeys/*", "assert": "doc.zones.exists(z, z.storey == value.id)"`,
			`"path": "/zones/*", "assert": "doc.storeys.exists(s, s.id == value.storey)"`,
			`"assert": "sets.equivalent(doc.storeys.map(s, s.id), doc.zones.map(z, z.storey).distinct())"`,
		} {
			t.Run(fmt.Sprintf("%d storeys, %d zones: %s", size.storeys, size.zones, rule), func(t *testing.T) {
				t.Parallel()
				same(t, []string{}, verdicts(t, rule, string(document), "application/json"))
			})
		}
	}

	t.Run("ABrokenReferenceIsFound", func(t *testing.T) {
		t.Parallel()
		document := strings.Replace(string(buildingOf(t, 60, 5000)), `"storey":"storey-0059`, `"storey":"storey-9`, 1)
		for _, rule := range []string{
			`"assert": "doc.zones.all(z, z.storey in doc.storeys.map(s, s.id))"`,
			`"assert": "doc.zones.all(z, doc.storeys.exists(s, s.id == z.storey))"`,
		} {
			same(t, []string{"the rule r does not hold"}, verdicts(t, rule, document, "application/json"))
		}
		each := `"path": "/zones/*", "assert": "doc.storeys.exists(s, s.id == value.storey)"`
		same(t, []string{"/zones/59 the rule r does not hold"}, verdicts(t, each, document, "application/json"))
	})

	t.Run("WhatCostsTooMuchSaysHowToWriteIt", func(t *testing.T) {
		t.Parallel()
		const cheaper = "; set path to the elements of one list, as in /zones/*, and loop over the other list only"
		limits := engines.DefaultLimits()
		limits.MaxDocumentRuleCost = 500_000
		pairwise := oneRule(`"assert": "doc.zones.all(a, doc.zones.all(b, a.id == b.id || a.area != b.area))"`)
		bounded := compileWithin(t, engines.KindRules, pairwise, limits)
		report := run(t, bounded, buildingOf(t, 1, 1000), "application/json")
		same(t, []brief{{"rule.r", "", 1, 1, 0, "not evaluated: it costs too much" + cheaper}}, briefs(report))
		deep := `"assert": "doc.a.all(a, doc.b.all(b, doc.c.all(c, a == b || b == c)))"`
		same(t, "column 36: comprehension exceeds nesting limit"+cheaper,
			refused(t, engines.KindRules, oneRule(deep)).Detail)
		matches := `.matches('` + strings.Repeat("a*b*", 200) + `')`
		pairs := `"assert": "doc.a.all(a, doc.b.all(b, a` + matches + ` && b` + matches + `))"`
		if detail := refused(t, engines.KindRules, oneRule(pairs)).Detail; !strings.HasSuffix(detail, cheaper) {
			t.Errorf("detail = %s, want one that says how to write it", detail)
		}
	})
}
