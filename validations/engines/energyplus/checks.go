package energyplus

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// modelVersion is a version as a model states it; its group is what decides.
var modelVersion = regexp.MustCompile(`^(\d{1,3}\.\d{1,3})(?:\.[0-9.]*)?$`)

// nameSet holds the names of a group as they are written, by what they are compared as.
type nameSet map[string]string

// always is the message of what a model can fail only a few times.
func always(message string) func() string {
	return func() string { return message }
}

func (r *modelRun) checkEncoding() {
	if r.model.brokenAt >= 0 {
		message := "the text is not UTF-8; characters other than ASCII may be misread"
		r.find(checkEncoding, "encoding", modelPlace{offset: r.model.brokenAt}, always(message))
	}
}

func (r *modelRun) checkVersion() {
	objects := r.ofClass("Version")
	if len(objects) == 0 {
		message := "the model does not say which version of EnergyPlus it is for"
		r.find(checkVersion, "version_missing", modelPlace{none: true}, always(message))
		return
	}
	version, at := r.version()
	if version == "" {
		r.find(checkVersion, "version_unsupported", at, always("this is no version of EnergyPlus, such as 23.2"))
		return
	}
	if !slices.Contains(r.engine.versions, version) {
		message := fmt.Sprintf("the version %s is not one of %s", version, strings.Join(r.engine.versions, ", "))
		r.find(checkVersion, "version_unsupported", at, always(message))
	}
}

// version is the one the model is for, as "23.2", "" where it says none, and where it stands.
func (r *modelRun) version() (string, modelPlace) {
	objects := r.ofClass("Version")
	if len(objects) == 0 || len(objects[0].fields) == 0 {
		return "", modelPlace{}
	}
	first := objects[0].fields[0]
	found := modelVersion.FindStringSubmatch(first.text)
	if found == nil {
		return "", r.fieldPlace(objects[0], first, "version_identifier")
	}
	return found[1], r.fieldPlace(objects[0], first, "version_identifier")
}

func (r *modelRun) ofClass(class string) []*modelObject {
	found := []*modelObject{}
	for _, o := range r.model.objects {
		if o.key == foldName(class) {
			found = append(found, o)
		}
	}
	return found
}

// checkRequired looks for objects that must be there, and for those that may be there only once.
func (r *modelRun) checkRequired() {
	present := map[string]int{}
	for _, o := range r.model.objects {
		present[o.key]++
	}
	for _, alternatives := range r.engine.required {
		if !slices.ContainsFunc(alternatives, func(class string) bool { return present[foldName(class)] > 0 }) {
			message := "the model has no object of the class " + strings.Join(alternatives, " or ")
			r.find(checkRequiredObjects, "required_object", modelPlace{none: true}, always(message))
		}
	}
	for _, class := range []string{"Version", "Building", "GlobalGeometryRules", "Timestep", "SimulationControl"} {
		if present[foldName(class)] > 1 {
			for _, o := range r.ofClass(class)[1:] {
				r.find(checkRequiredObjects, "repeated_object", o.place, func() string {
					return "a model has one object of the class " + class
				})
			}
		}
	}
}

// checkNames compares names within a group or, where a class has none, within the class.
func (r *modelRun) checkNames() {
	type scope struct{ set, name string }
	first := map[scope]*modelObject{}
	for _, o := range r.model.objects {
		if o.name == "" {
			// Some classes may do without a name; those that others refer to may not.
			if o.group != "" {
				r.find(checkUniqueNames, "name_missing", o.place, func() string {
					return "this " + engine.Clip(o.class) + " has no name"
				})
			}
			continue
		}
		at := scope{string(o.group), foldName(o.name)}
		if o.group == "" {
			at.set = o.key
		}
		if other, taken := first[at]; taken {
			r.find(checkUniqueNames, "duplicate_name", o.place, func() string { return r.duplicate(o.name, other) })
			continue
		}
		first[at] = o
	}
}

func (r *modelRun) duplicate(name string, other *modelObject) string {
	message := fmt.Sprintf("the name %s is that of another %s", engine.Quote(name), engine.Clip(other.class))
	if r.model.format == formatIDF {
		message += fmt.Sprintf(" in line %d", r.model.lines.Line(other.place.offset))
	}
	return message
}

// groups returns the names of each group.
func (r *modelRun) groups() map[modelGroup]nameSet {
	groups := map[modelGroup]nameSet{}
	for _, o := range r.model.objects {
		if o.group == "" {
			continue
		}
		if groups[o.group] == nil {
			groups[o.group] = nameSet{}
		}
		groups[o.group][foldName(o.name)] = o.name
	}
	return groups
}

func (r *modelRun) checkReferences() {
	groups := r.groups()
	for _, o := range r.model.objects {
		if o.spec == nil {
			continue
		}
		for _, ref := range o.spec.references {
			for i, field := range o.referring(ref) {
				// Parametric models have expressions in place of names.
				if field.text == "" || strings.HasPrefix(field.text, "=") || knownIn(groups, ref.to, field.text) {
					continue
				}
				code := "unknown_" + strings.ReplaceAll(string(ref.to[0]), " ", "_")
				at := r.fieldPlace(o, field, ref.names[min(i, len(ref.names)-1)])
				r.find(checkReferences, code, at, func() string {
					message := fmt.Sprintf("there is no %s %s", ref.to[0], engine.Quote(field.text))
					if near := groups[ref.to[0]].nearest(field.text); near != "" {
						message += "; did you mean " + near + "?"
					}
					return message
				})
			}
		}
	}
}

// referring are the fields of an object that are such references.
func (o *modelObject) referring(ref modelReference) []modelField {
	found := []modelField{}
	for _, field := range o.fields {
		if field.position == 0 {
			if slices.Contains(ref.names, field.name) {
				found = append(found, field)
			}
			continue
		}
		behind := field.position - ref.first
		if ref.first > 0 && (behind == 0 || ref.step > 0 && behind > 0 && behind%ref.step == 0) {
			found = append(found, field)
		}
	}
	return found
}

func knownIn(groups map[modelGroup]nameSet, to []modelGroup, name string) bool {
	for _, group := range to {
		if _, known := groups[group][foldName(name)]; known {
			return true
		}
	}
	return false
}

// nearest returns the name that a mistyped one most likely means, or "". A large set is not searched.
func (s nameSet) nearest(name string) string {
	const mostCompared = 1000
	if len(s) > mostCompared {
		return ""
	}
	return engine.Nearest(name, slices.Sorted(maps.Values(s)))
}

// fieldPlace is where a field stands. Fields of an IDF get the name that epJSON has for them.
func (r *modelRun) fieldPlace(o *modelObject, field modelField, name string) modelPlace {
	if r.model.format == formatEpJSON {
		return field.place
	}
	return modelPlace{offset: field.place.offset, path: slices.Concat(o.place.path, []string{name})}
}

// checkZones looks for zones that no surface belongs to.
func (r *modelRun) checkZones() {
	bounded := map[string]bool{}
	for _, o := range r.model.objects {
		if o.group != groupSurface {
			continue
		}
		for _, ref := range o.spec.references {
			for _, field := range o.referring(ref) {
				if ref.to[0] == groupZone {
					bounded[foldName(field.text)] = true
				}
			}
		}
	}
	for _, o := range r.ofClass("Zone") {
		if o.name != "" && !bounded[foldName(o.name)] {
			r.find(checkZoneSurfaces, "zone_without_surfaces", o.place, func() string {
				return "no surface belongs to the zone " + engine.Quote(o.name)
			})
		}
	}
}

// checkFieldCounts compares the objects of an IDF with what is known of their classes.
func (r *modelRun) checkFieldCounts() {
	if r.model.format != formatIDF {
		return
	}
	for _, o := range r.model.objects {
		if o.spec == nil {
			continue
		}
		switch n := o.count(); {
		case o.spec.most > 0 && n > o.spec.most:
			r.find(checkFieldCounts, "field_count", o.place, func() string {
				return engine.AtMost(n, o.spec.most, "field", "fields") + "; is a semicolon missing?"
			})
		case n < o.spec.fewest:
			r.find(checkFieldCounts, "field_count", o.place, func() string {
				return engine.AtLeast(n, o.spec.fewest, "field", "fields")
			})
		}
	}
}
