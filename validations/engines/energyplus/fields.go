package energyplus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/dictionary"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// checkFields compares the fields of each object with the dictionary.
func (r *modelRun) checkFields() {
	for _, o := range r.model.objects {
		if o.spec == nil {
			continue
		}
		r.checkCounts(o)
		r.checkRequiredFields(o)
		for i := range o.fields {
			r.checkField(o, &o.fields[i])
		}
	}
}

// checkCounts looks for more fields or groups than the class has.
func (r *modelRun) checkCounts(o *modelObject) {
	found := modelFinding{check: checkFieldCounts, code: "field_count", object: o}
	if group := o.spec.Repeated; group != nil {
		switch n := o.groups; {
		case n < group.Least:
			found.message = group.Name + " " + engine.AtLeast(n, group.Least, "group", "groups")
		case group.Most > 0 && n > group.Most:
			found.message = group.Name + " " + engine.AtMost(n, group.Most, "group", "groups")
		}
	} else if r.model.format == formatIDF {
		most := len(o.spec.Fields)
		if o.spec.Label != nil {
			most++
		}
		if o.count > most {
			found.message = engine.AtMost(o.count, most, "field", "fields") + "; is a semicolon missing?"
		}
	}
	if found.message != "" {
		r.find(found)
	}
}

// checkRequiredFields looks for blank fields that may not be blank, also in each repeated group.
func (r *modelRun) checkRequiredFields(o *modelObject) {
	next := 0
	r.checkRequiredIn(o, outside, o.spec.Fields, &next)
	if o.spec.Repeated == nil {
		return
	}
	for group := range o.groups {
		r.checkRequiredIn(o, group, o.spec.Repeated.Fields, &next)
	}
}

// checkRequiredIn looks through the fields of one group, which are in a row.
func (r *modelRun) checkRequiredIn(o *modelObject, group int, specs []*dictionary.Field, next *int) {
	present := o.fields[*next:]
	end := slices.IndexFunc(present, func(f modelField) bool { return f.group != group })
	if end >= 0 {
		present = present[:end]
	}
	*next += len(present)
	for i, spec := range specs {
		if !spec.Required {
			continue
		}
		has := func(f modelField) bool { return f.spec == spec && (f.text != "" || f.kind == jsonOther) }
		if i < len(present) && has(present[i]) || slices.ContainsFunc(present, has) {
			continue
		}
		missing := []string{spec.Name}
		if group != outside {
			missing = []string{o.spec.Repeated.Name, strconv.Itoa(group), spec.Name}
		}
		r.find(modelFinding{
			check: checkRequiredFields, code: "field_missing", object: o, missing: missing,
			message: fmt.Sprintf("%s needs %s", o.spec.Name, spec.Name),
		})
	}
}

// checkField compares a value with the type, the choices and the range of its field.
func (r *modelRun) checkField(o *modelObject, f *modelField) {
	if f.spec == nil {
		r.unknownField(o, f)
		return
	}
	code, message := f.fault()
	if code != "" {
		r.find(modelFinding{check: checkValues, code: code, message: message, object: o, field: f})
	}
}

func (r *modelRun) unknownField(o *modelObject, f *modelField) {
	found := modelFinding{check: checkFields, code: "unknown_field", object: o, field: f}
	if o.spec.Repeated != nil && f.group == outside && f.name == o.spec.Repeated.Name {
		found.check, found.code, found.message = checkValues, "field_type", "this is not a list of objects"
		r.find(found)
		return
	}
	specs := o.spec.Fields
	names := []string{}
	if f.group != outside {
		specs = o.spec.Repeated.Fields
	} else if o.spec.Repeated != nil {
		names = append(names, o.spec.Repeated.Name)
	}
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	meant := engine.Nearest(f.name, names)
	if meant == "" {
		// EnergyPlus ignores the field. A misspelt one loses a value that was meant for another.
		found.check = checkIgnoredFields
	}
	found.message = fmt.Sprintf("%s has no field %s", o.spec.Name, engine.Quote(f.name)) + didYouMean(meant)
	r.find(found)
}

// fault returns the code and the message of what is wrong with a value, both empty where nothing is.
func (f *modelField) fault() (string, string) {
	if f.kind == jsonOther {
		return "field_type", "this is neither a text nor a number"
	}
	if f.text == "" || f.isExpression() || f.spec.Kind == dictionary.Either {
		return "", ""
	}
	if f.spec.Kind != dictionary.Text {
		return f.faultOfNumber()
	}
	if f.kind == jsonNumber {
		return "field_type", f.text + " is a number, not a text"
	}
	if len(f.spec.Choices) > 0 && !f.isOneOf(f.spec.Choices) {
		return "field_choice", engine.Quote(f.text) + " is " + noneOf(f.text, f.spec.Choices)
	}
	return "", ""
}

// isExpression reports whether the value is that of a parametric model, which has expressions in place of values.
func (f *modelField) isExpression() bool {
	return f.kind == writtenText && (f.text[0] == '=' || f.text[0] == '$')
}

func (f *modelField) faultOfNumber() (string, string) {
	value, isNumber := f.number()
	if !isNumber {
		if len(f.spec.Words) > 0 && f.isWord() {
			return "", ""
		}
		message := engine.Quote(f.text) + " is not a number"
		if len(f.spec.Words) > 0 {
			message += " or " + strings.Join(f.spec.Words, " or ")
		}
		if f.spec.Default != "" {
			message += "; the default is " + f.spec.Default
		}
		return "field_type", message
	}
	if f.spec.Kind == dictionary.Integer && value != float64(int64(value)) {
		return "field_type", engine.Clip(f.text) + " is not an integer"
	}
	if len(f.spec.Choices) > 0 && !slices.ContainsFunc(f.spec.Choices, func(choice string) bool {
		allowed, err := strconv.ParseFloat(choice, 64)
		return err == nil && allowed == value
	}) {
		return "field_choice", engine.Clip(f.text) + " is " + noneOf(f.text, f.spec.Choices)
	}
	return f.faultOfRange(value)
}

func (f *modelField) faultOfRange(value float64) (string, string) {
	for _, end := range [...]struct {
		dictionary.Bound

		inwards            float64
		beyond, beyondOrAt string
	}{
		{f.spec.Minimum, 1, "less than", "not more than"},
		{f.spec.Maximum, -1, "more than", "not less than"},
	} {
		inside := (value - end.Value) * end.inwards
		if !end.Set || inside > 0 || inside == 0 && !end.Exclusive {
			continue
		}
		words := end.beyond
		if end.Exclusive {
			words = end.beyondOrAt
		}
		message := fmt.Sprintf("%s is %s %s %s", engine.Clip(f.text), words, formatNumber(end.Value), f.spec.Units)
		return "field_range", strings.TrimSpace(message)
	}
	return "", ""
}

// number is the value of a field that has one. As in EnergyPlus a number has only digits, signs, a point and an
// exponent.
func (f *modelField) number() (float64, bool) {
	if f.kind == jsonText || f.kind == jsonOther {
		return 0, false
	}
	return parseNumber(f.text)
}

func parseNumber(text string) (float64, bool) {
	if strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

// isWord reports whether the value is a word that may stand for a number. In an IDF, EnergyPlus takes Autosize and
// Autocalculate for each other.
func (f *modelField) isWord() bool {
	if f.kind != writtenText {
		return slices.Contains(f.spec.Words, f.text)
	}
	return f.isOneOf(f.spec.Words) || f.isOneOf([]string{"Autosize", "Autocalculate"})
}

// isOneOf compares a value with choices. EnergyPlus ignores case in an IDF, but not in an epJSON.
func (f *modelField) isOneOf(choices []string) bool {
	if f.kind != writtenText {
		return slices.Contains(choices, f.text)
	}
	return slices.ContainsFunc(choices, func(choice string) bool { return strings.EqualFold(choice, f.text) })
}

// noneOf says which choices there are, if they are few.
func noneOf(text string, choices []string) string {
	const mostListed = 12
	if len(choices) <= mostListed {
		return "not one of " + strings.Join(choices, ", ")
	}
	return fmt.Sprintf("not one of its %d choices", len(choices)) + didYouMean(engine.Nearest(text, choices))
}
