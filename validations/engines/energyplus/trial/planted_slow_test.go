//go:build slow

package trial_test

import (
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

// fault is a way to break a good model.
type fault struct {
	name string
	// codes are those of the findings that say it, without their prefix.
	codes []string
	// edits are the changes that do it, each at another place.
	edits func(m goodModel) []edit
}

// edit replaces a part of a model.
type edit struct {
	start, end int
	with       string
	// at is the place in the changed text where the fault is.
	at int
}

// apply returns the changed model and the line of the fault.
func (e edit) apply(text string) (string, int) {
	changed := text[:e.start] + e.with + text[e.end:]
	return changed, 1 + strings.Count(changed[:e.at], "\n")
}

// faults are all kinds of faults.
func faults() []fault {
	return slices.Concat(
		classFaults(), objectFaults(), separatorFaults(), valueFaults(), referenceFaults(), geometryFaults(),
		scheduleFaults(),
	)
}

// replaceFields changes each field for which change gives another text.
func replaceFields(change func(o object, f *model.FieldSpec, text string) (string, bool)) func(goodModel) []edit {
	return func(m goodModel) []edit {
		edits := []edit{}
		for _, o := range m.objects {
			for i, value := range o.fields {
				f := o.field(i)
				if f == nil {
					continue
				}
				if with, ok := change(o, f, value.text); ok {
					edits = append(edits, edit{value.start, value.end, with, value.start})
				}
			}
		}
		return edits
	}
}

// replaceObjects changes each object for which change gives an edit.
func replaceObjects(change func(m goodModel, o object) (edit, bool)) func(goodModel) []edit {
	return func(m goodModel) []edit {
		edits := []edit{}
		for _, o := range m.objects {
			if o.spec == nil {
				continue
			}
			if e, ok := change(m, o); ok {
				edits = append(edits, e)
			}
		}
		return edits
	}
}

// isNumber reports whether a field has a number.
func isNumber(f *model.FieldSpec, text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && (f.Kind == model.Number || f.Kind == model.Integer)
}

// misspelt has the last two letters swapped, or another one at the end.
func misspelt(text string) string {
	end := len(text)
	if end < 2 || text[end-1] == text[end-2] {
		return text + "x"
	}
	return text[:end-2] + text[end-1:] + text[end-2:end-1]
}

func classFaults() []fault {
	class := func(with func(text string) string) func(goodModel) []edit {
		return replaceObjects(func(_ goodModel, o object) (edit, bool) {
			return edit{o.class.start, o.class.end, with(o.class.text), o.class.start}, !o.spec.Required &&
				o.spec.Name != "Version"
		})
	}
	return []fault{
		{"misspelt class", []string{"unknown_class"}, class(misspelt)},
		{"class that does not exist", []string{"unknown_class"}, class(func(string) string { return "Nothing:Known" })},
		{
			"class with a colon too many",
			[]string{"unknown_class"},
			class(func(text string) string { return text + ":" }),
		},
	}
}

// objectFaults are those of objects as a whole.
func objectFaults() []fault {
	copyOf := func(m goodModel, o object, change func(text string) string) edit {
		return edit{o.end, o.end, "\n" + change(m.text[o.class.start:o.end]), o.end + 1}
	}
	hasName := func(o object) bool {
		return o.spec.Label != nil && o.spec.Label.Required && len(o.fields) > 0 && o.fields[0].text != ""
	}
	return []fault{
		{
			"second object of a unique class",
			[]string{"repeated_object"},
			replaceObjects(func(m goodModel, o object) (edit, bool) {
				return copyOf(m, o, func(text string) string { return text }), o.spec.Unique
			}),
		},
		{
			"name used twice",
			[]string{"duplicate_name"},
			replaceObjects(func(m goodModel, o object) (edit, bool) {
				return copyOf(m, o, func(text string) string { return text }), hasName(o)
			}),
		},
		{
			"name used twice in capitals",
			[]string{"duplicate_name"},
			replaceObjects(func(m goodModel, o object) (edit, bool) {
				return copyOf(m, o, strings.ToUpper), hasName(o)
			}),
		},
		{
			"name missing",
			[]string{"name_missing"},
			replaceObjects(func(_ goodModel, o object) (edit, bool) {
				if !hasName(o) {
					return edit{}, false
				}
				return edit{o.fields[0].start, o.fields[0].end, "", o.class.start}, true
			}),
		},
	}
}

// separatorFaults are those of what separates fields and objects.
func separatorFaults() []fault {
	return []fault{
		{
			"fields too many",
			[]string{"field_count"},
			replaceObjects(func(_ goodModel, o object) (edit, bool) {
				more := strings.Repeat(",1", len(o.spec.Fields)+1)
				return edit{o.end - 1, o.end - 1, more, o.class.start}, o.spec.Repeated == nil
			}),
		},
		{
			"semicolon missing",
			[]string{"field_count"},
			replaceObjects(func(m goodModel, o object) (edit, bool) {
				next := slices.IndexFunc(m.objects, func(other object) bool { return other.class.start >= o.end })
				// The next object fills fields that are not used, so only a full one shows that it is one too many.
				full := next >= 0 && len(o.fields)+1+len(m.objects[next].fields) > len(o.spec.Fields)+1
				return edit{o.end - 1, o.end, ",", o.class.start}, o.spec.Repeated == nil && full
			}),
		},
		{
			"comma missing at the end of a line",
			[]string{"malformed"},
			replaceObjects(func(m goodModel, o object) (edit, bool) {
				for i := range len(o.fields) - 1 {
					f := o.fields[i]
					next := m.text[f.end:o.fields[i+1].start]
					if f.text != "" && next[0] == ',' && strings.Contains(next, "\n") {
						return edit{f.end, f.end + 1, " ", f.start}, true
					}
				}
				return edit{}, false
			}),
		},
	}
}

func valueFaults() []fault {
	number := func(with func(f *model.FieldSpec, text string) (string, bool)) func(goodModel) []edit {
		return replaceFields(func(_ object, f *model.FieldSpec, text string) (string, bool) {
			if !isNumber(f, text) {
				return "", false
			}
			return with(f, text)
		})
	}
	always := func(with string) func(*model.FieldSpec, string) (string, bool) {
		return func(_ *model.FieldSpec, text string) (string, bool) { return text + with, true }
	}
	bound := func(of func(f *model.FieldSpec) model.Bound, exclusive bool, step float64) func(goodModel) []edit {
		return number(func(f *model.FieldSpec, _ string) (string, bool) {
			b := of(f)
			return strconv.FormatFloat(b.Value+step, 'g', -1, 64), b.Set && b.Exclusive == exclusive &&
				len(f.Choices) == 0
		})
	}
	minimum := func(f *model.FieldSpec) model.Bound { return f.Minimum }
	maximum := func(f *model.FieldSpec) model.Bound { return f.Maximum }
	choice := func(with func(text string) string) func(goodModel) []edit {
		return replaceFields(func(_ object, f *model.FieldSpec, text string) (string, bool) {
			return with(text), len(f.Choices) > 0 && f.Kind == model.Text && text != ""
		})
	}
	return []fault{
		{
			"word in place of a number",
			[]string{"field_type"},
			number(func(*model.FieldSpec, string) (string, bool) { return "abc", true }),
		},
		{"number with a unit", []string{"field_type"}, number(always(" m"))},
		{"number with a letter", []string{"field_type"}, number(always("O"))},
		{"number with two points", []string{"field_type"}, number(always(".0.0"))},
		{
			"fraction in place of an integer",
			[]string{"field_type"},
			number(func(f *model.FieldSpec, text string) (string, bool) {
				return text + ".5", f.Kind == model.Integer && !strings.ContainsAny(text, ".eE")
			}),
		},
		{"number below its minimum", []string{"field_range"}, bound(minimum, false, -1)},
		{"number above its maximum", []string{"field_range"}, bound(maximum, false, 1)},
		{"number at a minimum that is excluded", []string{"field_range"}, bound(minimum, true, 0)},
		{"number at a maximum that is excluded", []string{"field_range"}, bound(maximum, true, 0)},
		{"misspelt choice", []string{"field_choice"}, choice(misspelt)},
		{"choice that does not exist", []string{"field_choice"}, choice(func(string) string { return "Whatever" })},
		{"required field blank", []string{"field_missing"}, requiredBlank},
	}
}

func requiredBlank(m goodModel) []edit {
	edits := []edit{}
	for _, o := range m.objects {
		for i, value := range o.fields {
			f := o.field(i)
			if f != nil && f.Required && f != o.spec.Label && o.spec.Name != "Version" {
				edits = append(edits, edit{value.start, value.end, "", o.class.start})
			}
		}
	}
	return edits
}

func referenceFaults() []fault {
	reference := func(lists ...string) func(goodModel) []edit {
		return replaceFields(func(o object, f *model.FieldSpec, text string) (string, bool) {
			return text + "x", text != "" && f != o.spec.Label && slices.ContainsFunc(f.Refers, func(list string) bool {
				return slices.Contains(lists, list)
			})
		})
	}
	return []fault{
		{"zone that does not exist", []string{"unknown_zone"}, reference("ZoneNames", "ZoneAndZoneListNames")},
		{"construction that does not exist", []string{"unknown_construction"}, reference("ConstructionNames")},
		{"material that does not exist", []string{"unknown_material"}, reference("MaterialName")},
		{"schedule that does not exist", []string{"unknown_schedule"}, reference("ScheduleNames")},
		{"week that does not exist", []string{"unknown_week_schedule"}, reference("WeekScheduleNames")},
		{"day that does not exist", []string{"unknown_day_schedule"}, reference("DayScheduleNames")},
		{"surface that does not exist", []string{"unknown_surface"}, reference("SurfaceNames")},
		{"branch that does not exist", []string{"unknown_object"}, reference("Branches")},
		{"component that does not exist", []string{"unknown_object"}, reference("validBranchEquipmentNames")},
		{"component of a class that does not exist", []string{"unknown_type"}, reference("validBranchEquipmentTypes")},
		{
			"curve that does not exist",
			[]string{"unknown_object"},
			reference("UnivariateFunctions", "BivariateFunctions"),
		},
		{"material that was removed", []string{"unknown_material"}, removedMaterial},
	}
}

// removedMaterial removes each material that some construction has in a layer.
func removedMaterial(m goodModel) []edit {
	edits := []edit{}
	for _, o := range m.objects {
		if o.spec == nil || o.spec.Name != "Material" && o.spec.Name != "Material:NoMass" {
			continue
		}
		for _, user := range m.objects {
			at := slices.IndexFunc(user.fields, func(f token) bool {
				return strings.EqualFold(f.text, o.fields[0].text)
			})
			if user.class.text != "Construction" || at < 1 {
				continue
			}
			place := user.fields[at].start
			if place > o.end {
				place -= o.end - o.class.start
			}
			edits = append(edits, edit{o.class.start, o.end, "", place})
			break
		}
	}
	return edits
}

// polygons are the objects whose vertices are at their end, with the field of the first coordinate.
func polygon(o object) (int, bool) {
	if o.spec == nil || o.spec.Repeated == nil || o.spec.Repeated.Name != "vertices" || o.spec.Label == nil {
		return 0, false
	}
	return 1 + len(o.spec.Fields), len(o.fields) > 1+len(o.spec.Fields)
}

func geometryFaults() []fault {
	vertices := func(change func(m goodModel, o object, first int) edit) func(goodModel) []edit {
		return replaceObjects(func(m goodModel, o object) (edit, bool) {
			first, ok := polygon(o)
			if !ok {
				return edit{}, false
			}
			return change(m, o, first), true
		})
	}
	return []fault{
		{
			"more vertices stated than given",
			[]string{"vertex_count"},
			replaceFields(func(_ object, f *model.FieldSpec, text string) (string, bool) {
				return "40", f.Name == "number_of_vertices" && f.Maximum.Value == 0 && text != ""
			}),
		},
		{"coordinate missing", []string{"field_missing"}, vertices(func(_ goodModel, o object, _ int) edit {
			last := o.fields[len(o.fields)-1]
			return edit{last.start, last.end, "", o.class.start}
		})},
		{"all vertices in one place", []string{"no_area"}, vertices(func(_ goodModel, o object, first int) edit {
			with := strings.Repeat("1,", len(o.fields)-first-1) + "1"
			return edit{o.fields[first].start, o.fields[len(o.fields)-1].end, with, o.class.start}
		})},
		{"two vertices", []string{"vertex_count"}, vertices(func(m goodModel, o object, first int) edit {
			const twoVertices = 6
			return edit{o.fields[first+twoVertices-1].end, o.end - 1, "", o.class.start}
		})},
	}
}

func scheduleFaults() []fault {
	compact := func(prefix, with string) func(goodModel) []edit {
		return replaceFields(func(o object, f *model.FieldSpec, text string) (string, bool) {
			return with, o.spec.Name == "Schedule:Compact" && f != o.spec.Label &&
				strings.HasPrefix(strings.ToLower(text), prefix)
		})
	}
	return []fault{
		{"day that does not exist in a schedule", []string{"schedule"}, compact("through", "Through: 13/45")},
		{"days that do not exist in a schedule", []string{"schedule"}, compact("for", "For: Someone")},
		{"time that does not exist in a schedule", []string{"schedule"}, compact("until", "Until: 25:00")},
		{"misspelt word in a schedule", []string{"schedule"}, compact("until", "Up to 24:00")},
		{
			"word in place of a value in a schedule",
			[]string{"schedule"},
			replaceFields(func(o object, f *model.FieldSpec, text string) (string, bool) {
				_, err := strconv.ParseFloat(text, 64)
				return "abc", o.spec.Name == "Schedule:Compact" && f != o.spec.Label && err == nil
			}),
		},
	}
}
