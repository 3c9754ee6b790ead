package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// CheckObjects adds what is wrong with the objects of a model and their fields. Required are classes of which it needs
// an object, any of those in one entry; nil leaves them to the dictionary.
func (r *Findings) CheckObjects(required [][]string) {
	r.checkEncoding()
	r.checkClasses()
	r.checkRequired(required)
	r.checkFields()
}

func (r *Findings) checkEncoding() {
	if at := r.Model.brokenAt; at >= 0 {
		message := "the text is not UTF-8; characters other than ASCII may be misread"
		r.Find(Finding{
			Check: CheckEncoding, Code: "encoding", Message: message, At: &engine.Position{Offset: at},
		})
	}
}

// CheckCommas looks for commas that were forgotten at the end of a line. In a repeated group EnergyPlus reads on behind
// a number and behind a comment; elsewhere it loses the value. It returns false in that case: the fields of the object
// are not those that were meant, so all else that was found follows from it.
func (r *Findings) CheckCommas() bool {
	for o := range r.Model.Known() {
		if !r.checkComma(&o.Label) {
			return false
		}
		for i := range o.Fields {
			if !r.checkComma(&o.Fields[i]) {
				return false
			}
		}
	}
	return true
}

func (r *Findings) checkComma(f *Field) bool {
	if f.open == closed {
		return true
	}
	fault := missingComma(idfToken{text: f.Text, offset: f.offset})
	if f.Group == Outside || f.Spec.Kind == Text && f.open != openComment {
		r.issues = nil
		r.Find(Finding{Code: "malformed", Message: fault.Message, At: &fault.At})
		return false
	}
	message := "a comma is missing at the end of this line; EnergyPlus reads on"
	r.Find(Finding{Check: CheckCommas, Code: "comma", Message: message, At: &fault.At})
	return true
}

// checkClasses looks for objects of classes that the version does not have.
func (r *Findings) checkClasses() {
	names := []string{}
	for _, o := range r.Model.Objects {
		if o.Spec != nil {
			continue
		}
		if len(names) == 0 {
			names = engine.Each(r.Model.dictionary.Classes, func(class *Class) string { return class.Name })
		}
		message := fmt.Sprintf("EnergyPlus %s has no class %s", r.Model.dictionary.Version, engine.Quote(o.Class))
		if !r.Full("unknown_class") {
			message += engine.DidYouMean(engine.Nearest(o.Class, names))
		}
		r.Add(CheckClasses, "unknown_class", o, nil, message)
	}
}

// checkRequired looks for objects that must be there, and for those that may be there only once.
func (r *Findings) checkRequired(required [][]string) {
	if required == nil {
		for _, class := range r.Model.dictionary.Classes {
			if class.Required {
				required = append(required, []string{class.Name})
			}
		}
	}
	first := map[string]bool{}
	for _, o := range r.Model.Objects {
		if first[o.Key] && o.Spec != nil && o.Spec.Unique {
			r.Add(CheckRequiredObjects, "repeated_object", o, nil,
				"a model may have only one object of the class "+o.Spec.Name)
		}
		first[o.Key] = true
	}
	for _, alternatives := range required {
		if !slices.ContainsFunc(alternatives, func(class string) bool { return first[Fold(class)] }) {
			message := "the model has no object of the class " + strings.Join(alternatives, " or ")
			r.Find(Finding{Check: CheckRequiredObjects, Code: "required_object", Message: message})
		}
	}
}

// nameScopes are the reference lists whose names EnergyPlus wants to be unique among all classes in the list.
var nameScopes = []string{
	"MaterialName", "ConstructionNames", "ScheduleNames", "WeekScheduleNames", "DayScheduleNames",
	"AllShadingAndHTSurfNames",
}

// scopeOf is what the names of a class must be unique in: a reference list, or the class.
func scopeOf(class *Class) string {
	for _, list := range nameScopes {
		if slices.Contains(class.Label.Gives, list) {
			return list
		}
	}
	return class.Name
}

// CheckNames adds names that are missing or used twice, and fields that name what is not there.
func (r *Findings) CheckNames() {
	r.checkNames()
	r.checkReferences()
}

// checkNames looks for names that are missing or used twice.
func (r *Findings) checkNames() {
	type scopedName struct{ scope, name string }
	first := map[scopedName]*Object{}
	for _, o := range r.Model.Objects {
		if o.Spec == nil || o.Spec.Label == nil {
			continue
		}
		if strings.TrimSpace(o.Label.Text) == "" {
			if o.Spec.Label.Required {
				message := "this " + o.Spec.Name + " has no name"
				r.Add(CheckUniqueNames, "name_missing", o, nil, message)
			}
			continue
		}
		at := scopedName{scopeOf(o.Spec), Fold(o.Label.Text)}
		if other, taken := first[at]; taken {
			message := r.duplicate(o.Label.Text, other)
			r.Add(CheckUniqueNames, "duplicate_name", o, nil, message)
			continue
		}
		first[at] = o
	}
}

func (r *Findings) duplicate(name string, other *Object) string {
	message := fmt.Sprintf("the name %s is already used by another %s", engine.Quote(name), engine.Clip(other.Class))
	if r.Model.Format == formatIDF {
		message += fmt.Sprintf(" in line %d", r.Model.Lines.Line(other.Offset))
	}
	return message
}
