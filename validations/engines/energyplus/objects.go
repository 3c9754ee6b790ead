package energyplus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/dictionary"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

func (r *modelRun) checkEncoding() {
	if at := r.model.brokenAt; at >= 0 {
		message := "the text is not UTF-8; characters other than ASCII may be misread"
		r.find(modelFinding{
			check: checkEncoding, code: "encoding", message: message, at: &engine.Position{Offset: at},
		})
	}
}

// checkCommas looks for commas that were forgotten at the end of a line. In a repeated group EnergyPlus reads on behind
// a number and behind a comment; elsewhere it loses the value.
func (r *modelRun) checkCommas() {
	for _, o := range r.model.objects {
		if o.spec == nil {
			continue
		}
		r.checkComma(&o.label)
		for i := range o.fields {
			r.checkComma(&o.fields[i])
		}
	}
}

func (r *modelRun) checkComma(f *modelField) {
	if f.open == closed || r.malformed {
		return
	}
	at := engine.Position{Offset: f.offset + len(f.text)}
	if f.group == outside || f.spec.Kind == dictionary.Text && f.open != openComment {
		fault := missingComma(idfToken{text: f.text, offset: f.offset})
		r.malformed, r.issues = true, nil
		r.find(modelFinding{code: "malformed", message: fault.Message, at: &at})
		return
	}
	message := "a comma is missing at the end of this line; EnergyPlus reads on"
	r.find(modelFinding{check: checkCommas, code: "comma", message: message, at: &at})
}

// checkClasses looks for objects of classes that the version does not have.
func (r *modelRun) checkClasses() {
	names := []string{}
	for _, o := range r.model.objects {
		if o.spec != nil {
			continue
		}
		if len(names) == 0 {
			for _, class := range r.dictionary.Classes {
				names = append(names, class.Name)
			}
		}
		message := fmt.Sprintf("EnergyPlus %s has no class %s", r.dictionary.Version, engine.Quote(o.class))
		if !r.full("unknown_class") {
			message += didYouMean(engine.Nearest(o.class, names))
		}
		r.find(modelFinding{check: checkClasses, code: "unknown_class", message: message, object: o})
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
	for _, o := range r.model.objects {
		if first[o.key] && o.spec != nil && o.spec.Unique {
			r.find(modelFinding{
				check: checkRequiredObjects, code: "repeated_object", object: o,
				message: "a model may have only one object of the class " + o.spec.Name,
			})
		}
		first[o.key] = true
	}
	for _, alternatives := range r.required() {
		if !slices.ContainsFunc(alternatives, func(class string) bool { return first[foldName(class)] }) {
			message := "the model has no object of the class " + strings.Join(alternatives, " or ")
			r.find(modelFinding{check: checkRequiredObjects, code: "required_object", message: message})
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
	first := map[scopedName]*modelObject{}
	for _, o := range r.model.objects {
		if o.spec == nil || o.spec.Label == nil {
			continue
		}
		if strings.TrimSpace(o.label.text) == "" {
			if o.spec.Label.Required {
				message := "this " + o.spec.Name + " has no name"
				r.find(modelFinding{check: checkUniqueNames, code: "name_missing", message: message, object: o})
			}
			continue
		}
		scope, known := scopes[o.spec]
		if !known {
			scope = scopeOf(o.spec)
			scopes[o.spec] = scope
		}
		at := scopedName{scope, foldName(o.label.text)}
		if other, taken := first[at]; taken {
			message := r.duplicate(o.label.text, other)
			r.find(modelFinding{check: checkUniqueNames, code: "duplicate_name", message: message, object: o})
			continue
		}
		first[at] = o
	}
}

func (r *modelRun) duplicate(name string, other *modelObject) string {
	message := fmt.Sprintf("the name %s is already used by another %s", engine.Quote(name), engine.Clip(other.class))
	if r.model.format == formatIDF {
		message += fmt.Sprintf(" in line %d", r.model.lines.Line(other.offset))
	}
	return message
}
