package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// checkFields compares the fields of each object with the dictionary.
func (r *Findings) checkFields() {
	for o := range r.Model.Known() {
		r.checkCounts(o)
		r.checkRequiredFields(o)
		for i := range o.Fields {
			r.checkField(o, &o.Fields[i])
		}
	}
}

// checkCounts looks for more fields or groups than the class has.
func (r *Findings) checkCounts(o *Object) {
	found := Finding{Check: CheckFieldCounts, Code: "field_count", Object: o}
	if group := o.Spec.Repeated; group != nil {
		switch n := o.Groups; {
		case n < group.Least:
			found.Message = group.Name + " " + engine.AtLeast(n, group.Least, "group", "groups")
		case group.Most > 0 && n > group.Most:
			found.Message = group.Name + " " + engine.AtMost(n, group.Most, "group", "groups")
		}
	} else if r.Model.Format == formatIDF {
		most := len(o.Spec.Fields)
		if o.Spec.Label != nil {
			most++
		}
		if o.Count > most {
			found.Message = engine.AtMost(o.Count, most, "field", "fields") + "; is a semicolon missing?"
		}
	}
	if found.Message != "" {
		r.Find(found)
	}
}

// checkRequiredFields looks for blank fields that may not be blank, also in each repeated group.
func (r *Findings) checkRequiredFields(o *Object) {
	next := 0
	r.checkRequiredIn(o, Outside, o.Spec.Fields, &next)
	if o.Spec.Repeated == nil {
		return
	}
	for group := range o.Groups {
		r.checkRequiredIn(o, group, o.Spec.Repeated.Fields, &next)
	}
}

// checkRequiredIn looks through the fields of one group, which are in a row.
func (r *Findings) checkRequiredIn(o *Object, group int, specs []*FieldSpec, next *int) {
	present := o.Fields[*next:]
	end := slices.IndexFunc(present, func(f Field) bool { return f.Group != group })
	if end >= 0 {
		present = present[:end]
	}
	*next += len(present)
	for i, spec := range specs {
		if !spec.Required {
			continue
		}
		has := func(f Field) bool { return f.Spec == spec && (f.Text != "" || f.Form == JSONOther) }
		if i < len(present) && has(present[i]) || slices.ContainsFunc(present, has) {
			continue
		}
		missing := []string{spec.Name}
		if group != Outside {
			missing = []string{o.Spec.Repeated.Name, strconv.Itoa(group), spec.Name}
		}
		r.Find(Finding{
			Check: CheckRequiredFields, Code: "field_missing", Object: o, Missing: missing,
			Message: fmt.Sprintf("%s needs %s", o.Spec.Name, spec.Name),
		})
	}
}

// checkField compares a value with the type, the choices and the range of its field.
func (r *Findings) checkField(o *Object, f *Field) {
	if f.Spec == nil {
		r.unknownField(o, f)
		return
	}
	code, message := faultOf(f)
	if code != "" {
		r.Add(CheckValues, code, o, f, message)
	}
}

func (r *Findings) unknownField(o *Object, f *Field) {
	found := Finding{Check: CheckFields, Code: "unknown_field", Object: o, Field: f}
	if o.Spec.Repeated != nil && f.Group == Outside && f.Name == o.Spec.Repeated.Name {
		found.Check, found.Code, found.Message = CheckValues, "field_type", "this is not a list of objects"
		r.Find(found)
		return
	}
	specs := o.Spec.Fields
	names := []string{}
	if f.Group != Outside {
		specs = o.Spec.Repeated.Fields
	} else if o.Spec.Repeated != nil {
		names = append(names, o.Spec.Repeated.Name)
	}
	names = append(names, engine.Each(specs, func(spec *FieldSpec) string { return spec.Name })...)
	meant := engine.Nearest(f.Name, names)
	if meant == "" {
		// EnergyPlus ignores the field. A misspelt one loses a value that was meant for another.
		found.Check = CheckIgnoredFields
	}
	found.Message = fmt.Sprintf("%s has no field %s", o.Spec.Name, engine.Quote(f.Name)) + engine.DidYouMean(meant)
	r.Find(found)
}

// faultOf returns the code and the message of what is wrong with a value, both empty where nothing is.
func faultOf(f *Field) (string, string) {
	if f.Form == JSONOther {
		return "field_type", "this is neither a text nor a number"
	}
	if f.Text == "" || f.IsExpression() || f.Spec.Kind == Either {
		return "", ""
	}
	if f.Spec.Kind != Text {
		return faultOfNumber(f)
	}
	if f.Form == JSONNumber {
		return "field_type", f.Text + " is a number, not a text"
	}
	if len(f.Spec.Choices) > 0 && !f.IsOneOf(f.Spec.Choices) {
		return "field_choice", engine.Quote(f.Text) + " is " + noneOf(f.Text, f.Spec.Choices)
	}
	return "", ""
}

func faultOfNumber(f *Field) (string, string) {
	value, isNumber := f.Number()
	if !isNumber {
		if len(f.Spec.Words) > 0 && f.IsWord() {
			return "", ""
		}
		message := engine.Quote(f.Text) + " is not a number"
		if len(f.Spec.Words) > 0 {
			message += " or " + strings.Join(f.Spec.Words, " or ")
		}
		if f.Spec.Default != "" {
			message += "; the default is " + f.Spec.Default
		}
		return "field_type", message
	}
	if f.Spec.Kind == Integer && value != float64(int64(value)) {
		return "field_type", engine.Clip(f.Text) + " is not an integer"
	}
	if len(f.Spec.Choices) > 0 && !slices.ContainsFunc(f.Spec.Choices, func(choice string) bool {
		allowed, err := strconv.ParseFloat(choice, 64)
		return err == nil && allowed == value
	}) {
		return "field_choice", engine.Clip(f.Text) + " is " + noneOf(f.Text, f.Spec.Choices)
	}
	return faultOfRange(f, value)
}

func faultOfRange(f *Field, value float64) (string, string) {
	for _, end := range [...]struct {
		Bound

		inwards            float64
		beyond, beyondOrAt string
	}{
		{f.Spec.Minimum, 1, "less than", "not more than"},
		{f.Spec.Maximum, -1, "more than", "not less than"},
	} {
		inside := (value - end.Value) * end.inwards
		if !end.Set || inside > 0 || inside == 0 && !end.Exclusive {
			continue
		}
		words := end.beyond
		if end.Exclusive {
			words = end.beyondOrAt
		}
		message := fmt.Sprintf("%s is %s %s %s", engine.Clip(f.Text), words, NumberText(end.Value), f.Spec.Units)
		return "field_range", strings.TrimSpace(message)
	}
	return "", ""
}

// noneOf says which choices there are, if they are few.
func noneOf(text string, choices []string) string {
	const mostListed = 12
	if len(choices) <= mostListed {
		return "not one of " + strings.Join(choices, ", ")
	}
	return fmt.Sprintf("not one of its %d choices", len(choices)) + engine.DidYouMean(engine.Nearest(text, choices))
}
