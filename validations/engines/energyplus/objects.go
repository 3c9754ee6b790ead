package energyplus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/dictionary"
	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

func (r *modelRun) checkEncoding() {
	if at := r.Model.BrokenAt; at >= 0 {
		message := "the text is not UTF-8; characters other than ASCII may be misread"
		r.Find(model.Finding{
			Check: model.CheckEncoding, Code: "encoding", Message: message, At: &engine.Position{Offset: at},
		})
	}
}

// checkCommas looks for commas that were forgotten at the end of a line. In a repeated group EnergyPlus reads on behind
// a number and behind a comment; elsewhere it loses the value.
func (r *modelRun) checkCommas() {
	for o := range r.Model.Known() {
		r.checkComma(&o.Label)
		for i := range o.Fields {
			r.checkComma(&o.Fields[i])
		}
	}
}

func (r *modelRun) checkComma(f *model.Field) {
	if f.Open == model.Closed || r.malformed {
		return
	}
	fault := f.MissingComma()
	if f.Group == model.Outside || f.Spec.Kind == dictionary.Text && f.Open != model.OpenComment {
		r.malformed = true
		r.Drop()
		r.Find(model.Finding{Code: "malformed", Message: fault.Message, At: &fault.At})
		return
	}
	message := "a comma is missing at the end of this line; EnergyPlus reads on"
	r.Find(model.Finding{Check: model.CheckCommas, Code: "comma", Message: message, At: &fault.At})
}

// checkClasses looks for objects of classes that the version does not have.
func (r *modelRun) checkClasses() {
	names := []string{}
	for _, o := range r.Model.Objects {
		if o.Spec != nil {
			continue
		}
		if len(names) == 0 {
			for _, class := range r.dictionary.Classes {
				names = append(names, class.Name)
			}
		}
		message := fmt.Sprintf("EnergyPlus %s has no class %s", r.dictionary.Version, engine.Quote(o.Class))
		if !r.Full("unknown_class") {
			message += didYouMean(engine.Nearest(o.Class, names))
		}
		r.Add(model.CheckClasses, "unknown_class", o, nil, message)
	}
}

// didYouMean ends a message about a mistyped name.
func didYouMean(meant string) string {
	if meant == "" {
		return ""
	}
	return "; did you mean " + engine.Clip(meant) + "?"
}

// checkRequired looks for objects that must be there, and for those that may be there only once.
func (r *modelRun) checkRequired() {
	first := map[string]bool{}
	for _, o := range r.Model.Objects {
		if first[o.Key] && o.Spec != nil && o.Spec.Unique {
			r.Add(model.CheckRequiredObjects, "repeated_object", o, nil,
				"a model may have only one object of the class "+o.Spec.Name)
		}
		first[o.Key] = true
	}
	for _, alternatives := range r.required() {
		if !slices.ContainsFunc(alternatives, func(class string) bool { return first[model.Fold(class)] }) {
			message := "the model has no object of the class " + strings.Join(alternatives, " or ")
			r.Find(model.Finding{Check: model.CheckRequiredObjects, Code: "required_object", Message: message})
		}
	}
}

// required are classes of which a model needs an object. Of the classes of one entry any will do.
func (r *modelRun) required() [][]string {
	if r.engine.required != nil {
		return r.engine.required
	}
	required := [][]string{}
	for _, class := range r.dictionary.Classes {
		if class.Required {
			required = append(required, []string{class.Name})
		}
	}
	return required
}

// nameScopes are the reference lists whose names EnergyPlus wants to be unique among all classes in the list.
var nameScopes = []string{
	"MaterialName", "ConstructionNames", "ScheduleNames", "WeekScheduleNames", "DayScheduleNames",
	"AllShadingAndHTSurfNames",
}

// scopeOf is what the names of a class must be unique in: a reference list, or the class.
func scopeOf(class *dictionary.Class) string {
	for _, list := range nameScopes {
		if slices.Contains(class.Label.Gives, list) {
			return list
		}
	}
	return class.Name
}

// checkNames looks for names that are missing or used twice.
func (r *modelRun) checkNames() {
	type scopedName struct{ scope, name string }
	scopes := map[*dictionary.Class]string{}
	first := map[scopedName]*model.Object{}
	for _, o := range r.Model.Objects {
		if o.Spec == nil || o.Spec.Label == nil {
			continue
		}
		if strings.TrimSpace(o.Label.Text) == "" {
			if o.Spec.Label.Required {
				message := "this " + o.Spec.Name + " has no name"
				r.Add(model.CheckUniqueNames, "name_missing", o, nil, message)
			}
			continue
		}
		scope, known := scopes[o.Spec]
		if !known {
			scope = scopeOf(o.Spec)
			scopes[o.Spec] = scope
		}
		at := scopedName{scope, model.Fold(o.Label.Text)}
		if other, taken := first[at]; taken {
			message := r.duplicate(o.Label.Text, other)
			r.Add(model.CheckUniqueNames, "duplicate_name", o, nil, message)
			continue
		}
		first[at] = o
	}
}

func (r *modelRun) duplicate(name string, other *model.Object) string {
	message := fmt.Sprintf("the name %s is already used by another %s", engine.Quote(name), engine.Clip(other.Class))
	if r.Model.Format == model.FormatIDF {
		message += fmt.Sprintf(" in line %d", r.Model.Lines.Line(other.Offset))
	}
	return message
}
