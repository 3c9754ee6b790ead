package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// nameSet holds names as they are written, by what they are compared as.
type nameSet map[string]string

// nameBook has the names that the references of a model may lead to.
type nameBook struct {
	dictionary *Dictionary
	// labels are the names of the objects of each class, given are values of fields that are names in a list.
	labels map[*Class]nameSet
	given  map[string]nameSet
	// strays are the names of objects whose class is unknown, so any reference may lead to them.
	strays nameSet
	// spaces has the zones by their keys.
	spaces map[string]*zoneSpaces
	// used are the names that references lead to, and broken those that lead nowhere.
	used   map[string]bool
	broken []brokenReference
	// meant are the names that broken references may mean, by what is said of them.
	meant map[string]string
}

// zoneSpaces says what a zone has of spaces, because EnergyPlus makes the missing ones itself.
type zoneSpaces struct {
	// named zones have a space, partly assigned ones also surfaces with and without a space.
	named, assigned, unassigned bool
}

// checkReferences looks for fields that name objects which the model does not have.
func (r *Findings) checkReferences() {
	book := newNameBook(r.Model)
	for o := range r.Model.Known() {
		if o.Spec.Label != nil {
			r.checkReference(book, o, &o.Label, nil)
		}
		begin := 0
		for i := range o.Fields {
			if o.Fields[i].Group != o.Fields[begin].Group {
				begin = i
			}
			r.checkReference(book, o, &o.Fields[i], o.Fields[begin:])
		}
		r.checkBoundary(book, o)
	}
	r.blame(book)
}

// checkReference looks for what a field names. The fields are those of its group, and what is behind them.
func (r *Findings) checkReference(book *nameBook, o *Object, f *Field, fields []Field) {
	if f.Spec == nil || len(f.Spec.Refers) == 0 || f.Text == "" || f.Form == JSONOther || f.IsExpression() {
		return
	}
	found := Finding{Check: CheckReferences, Object: o, Field: f}
	if typed := book.typeBeside(o, f, fields); typed != nil {
		if book.has(typed, Fold(f.Text)) {
			book.used[Fold(f.Text)] = true
			return
		}
		found.Code, found.Message = "unknown_object", fmt.Sprintf("there is no %s %s", typed.Name, engine.Quote(f.Text))
		r.breaks(book, found, func() []string { return slices.Collect(maps.Values(book.labels[typed])) })
		return
	}
	if book.leads(o.Spec, f) {
		book.used[Fold(f.Text)] = true
		return
	}
	code, noun := book.nounOf(f.Spec.Refers)
	found.Code, found.Message = code, fmt.Sprintf("there is no %s %s", noun, engine.Quote(f.Text))
	if isLoose(o, f.Spec) {
		found.Check = CheckLooseReferences
	}
	r.breaks(book, found, func() []string { return book.candidates(f.Spec.Refers) })
}

// checkBoundary finds zones in place of the other surface where a surface has the boundary condition Surface. The field
// takes names of zones for another condition.
func (r *Findings) checkBoundary(book *nameBook, o *Object) {
	condition, other := o.Field("outside_boundary_condition"), o.Field("outside_boundary_condition_object")
	if condition == nil || Fold(condition.Text) != "surface" {
		return
	}
	// EnergyPlus simulates surfaces without the other one.
	if other == nil || other.Text == "" || other.IsExpression() {
		return
	}
	isSurface := func(class *Class) bool { return book.has(class, Fold(other.Text)) }
	surfaces := r.Model.dictionary.Givers("SurfAndSubSurfNames")
	if slices.ContainsFunc(surfaces, isSurface) || !book.leads(o.Spec, other) {
		return
	}
	r.Add(CheckReferences, "unknown_surface", o, other,
		"there is no surface "+engine.Quote(other.Text)+", which the condition Surface needs")
}

// typeBeside returns the class that the field before names, where the two are a pair such as component_object_type and
// component_name. EnergyPlus looks for the object in that class then.
func (b *nameBook) typeBeside(o *Object, f *Field, fields []Field) *Class {
	specs := o.Spec.Fields
	if f.Group != Outside {
		specs = o.Spec.Repeated.Fields
	}
	if f.Index == 0 || f == &o.Label {
		return nil
	}
	before := specs[f.Index-1]
	subject, isType := strings.CutSuffix(before.Name, "_object_type")
	if !isType || f.Spec.Name != subject+"_name" && f.Spec.Name != subject+"_object_name" {
		return nil
	}
	for _, pair := range fields {
		if pair.Group != f.Group {
			return nil
		}
		if pair.Spec != before {
			continue
		}
		if class := b.dictionary.Class(pair.Text); class != nil && class.Label != nil {
			return class
		}
		return nil
	}
	return nil
}

// newNameBook collects the names of a model.
func newNameBook(m *Model) *nameBook {
	book := &nameBook{
		dictionary: m.dictionary, labels: map[*Class]nameSet{}, given: map[string]nameSet{},
		strays: nameSet{}, spaces: map[string]*zoneSpaces{}, used: map[string]bool{}, meant: map[string]string{},
	}
	for _, o := range m.Objects {
		if o.Spec == nil {
			book.strays.add(o.Label.Text)
			continue
		}
		if o.Spec.Label != nil {
			if book.labels[o.Spec] == nil {
				book.labels[o.Spec] = nameSet{}
			}
			book.labels[o.Spec].add(o.Label.Text)
		}
		for _, f := range o.Fields {
			if f.Spec != nil {
				book.give(f.Spec.Gives, f.Text)
			}
		}
		book.assign(o)
	}
	return book
}

// assign notes to which zone a space or a surface belongs.
func (b *nameBook) assign(o *Object) {
	zone := o.Field(ZoneName)
	if zone == nil || o.Key != SpaceKey && !IsSurface(o.Spec) {
		return
	}
	key := Fold(zone.Text)
	if b.spaces[key] == nil {
		b.spaces[key] = &zoneSpaces{}
	}
	space := o.Field("space_name")
	switch {
	case o.Key == SpaceKey:
		b.spaces[key].named = true
	case space != nil && space.Text != "":
		b.spaces[key].assigned = true
	default:
		b.spaces[key].unassigned = true
	}
}

// give adds the value of a field to lists.
func (b *nameBook) give(lists []string, name string) {
	for _, list := range lists {
		key := Fold(list)
		if b.given[key] == nil {
			b.given[key] = nameSet{}
		}
		b.given[key].add(name)
	}
}

func (s nameSet) add(name string) {
	s[Fold(name)] = name
}

// longestName is more than EnergyPlus allows a name. Longer ones are not taken apart, which takes quadratic time.
const longestName = 200

// has reports whether the model has an object of the class with this name. The name may also be one that EnergyPlus
// makes itself: it makes an object for each zone of a list, and calls it by the zone and by the object of the list. It
// also makes the missing spaces of a zone.
func (b *nameBook) has(class *Class, key string) bool {
	labels := b.labels[class]
	if _, known := labels[key]; known {
		return true
	}
	if _, stray := b.strays[key]; stray {
		return true
	}
	if strings.EqualFold(class.Name, SpaceKey) && b.isMadeSpace(key) {
		return true
	}
	if len(labels) == 0 || len(key) > longestName {
		return false
	}
	for at, char := range []byte(key) {
		if char != ' ' {
			continue
		}
		if _, named := labels[key[at+1:]]; named && b.isZone(key[:at]) {
			return true
		}
	}
	return false
}

// isMadeSpace reports whether EnergyPlus makes a space with this name: one that is called like its zone where the zone
// has none, and one for the surfaces that have no space where others of the zone have one.
func (b *nameBook) isMadeSpace(key string) bool {
	if zone, isRest := strings.CutSuffix(key, "-remainder"); isRest {
		if spaces := b.spaces[zone]; spaces != nil && spaces.assigned && spaces.unassigned {
			return true
		}
	}
	_, isZone := b.labels[b.dictionary.Class(ZoneKey)][key]
	spaces := b.spaces[key]
	return isZone && (spaces == nil || !spaces.named)
}

func (b *nameBook) isZone(key string) bool {
	_, isZone := b.labels[b.dictionary.Class(ZoneKey)][key]
	_, isSpace := b.labels[b.dictionary.Class(SpaceKey)][key]
	return isZone || isSpace
}

// builtIn are the fluids whose properties EnergyPlus knows by itself.
var builtIn = []string{"water", "steam", "ethyleneglycol", "propyleneglycol"}

// preprocessed begins the names of surface properties that the preprocessors for slabs and basements add.
const preprocessed = "surfpropothsdcoef"

// leads reports whether the value of a field is a name in one of the lists that the field refers to.
func (b *nameBook) leads(class *Class, f *Field) bool {
	key := Fold(f.Text)
	lists := slices.Concat(f.Spec.Refers, furtherLists[class.Name][f.Spec.Name])
	return slices.ContainsFunc(lists, func(list string) bool {
		if len(b.dictionary.Givers(list)) == 0 && len(b.dictionary.Types(list)) == 0 {
			return true
		}
		return b.isListed(list, key) || b.isType(list, f.Text)
	})
}

// isListed reports whether a name is in a list.
func (b *nameBook) isListed(list, key string) bool {
	if strings.HasPrefix(list, "Fluid") && slices.Contains(builtIn, key) {
		return true
	}
	givers := b.dictionary.Givers(list)
	if list == "OutFaceEnvNames" {
		if strings.HasPrefix(key, preprocessed) {
			return true
		}
		// The list lacks some classes of surfaces.
		givers = slices.Concat(givers, b.dictionary.Givers("SurfAndSubSurfNames"))
	}
	_, given := b.given[Fold(list)][key]
	return given || slices.ContainsFunc(givers, func(class *Class) bool { return b.has(class, key) })
}

// isType reports whether a name is that of a class in a list of classes.
func (b *nameBook) isType(list, name string) bool {
	class, types := b.dictionary.Class(name), b.dictionary.Types(list)
	if class == nil || len(types) == 0 {
		return false
	}
	return slices.Contains(types, class) || slices.Contains(furtherTypes[Fold(list)], class.Name)
}

// nouns are the words for the names in the lists that people know, by the list in lower case.
var nouns = map[string]string{
	"zonenames": "zone", "zoneandzonelistnames": "zone", "zoneandzonelistandspaceandspacelistnames": "zone",
	"zonelistnames": "zone list", "spacenames": "space", "spaceandspacelistnames": "space",
	"constructionnames": "construction", "materialname": "material", "schedulenames": "schedule",
	"weekschedulenames": "week schedule", "dayschedulenames": "day schedule",
	"scheduletypelimitsnames": "schedule type limits", "surfacenames": "surface",
	"allheattransurfnames": "surface", "surfandsubsurfnames": "surface", "allshadingandhtsurfnames": "surface",
}

// nounOf returns the code of a reference that leads nowhere, and the word for what it should lead to.
func (b *nameBook) nounOf(lists []string) (string, string) {
	// Where a zone or a space may stand, most people mean a zone. Its list is behind that of the spaces.
	if noun, known := nouns[Fold(lists[len(lists)-1])]; known {
		return "unknown_" + strings.ReplaceAll(noun, " ", "_"), noun
	}
	names := []string{}
	for _, list := range lists {
		if len(b.dictionary.Types(list)) > 0 {
			return "unknown_type", "class for this field called"
		}
		for _, class := range b.dictionary.Givers(list) {
			if !slices.Contains(names, class.Name) {
				names = append(names, class.Name)
			}
		}
	}
	const mostListed = 3
	if len(names) > mostListed {
		return "unknown_object", "object for this field called"
	}
	return "unknown_object", strings.Join(names, " or ")
}

// candidates are the names in lists.
func (b *nameBook) candidates(lists []string) []string {
	names := []string{}
	for _, list := range lists {
		for _, class := range b.dictionary.Givers(list) {
			names = slices.AppendSeq(names, maps.Values(b.labels[class]))
		}
		names = slices.AppendSeq(names, maps.Values(b.given[Fold(list)]))
		names = append(names, engine.Each(b.dictionary.Types(list), func(class *Class) string { return class.Name })...)
	}
	return names
}

// nearestOf returns the name that a mistyped one most likely means, or "". A large set is not searched.
func nearestOf(name string, candidates []string) string {
	const mostCompared = 1000
	if len(candidates) > mostCompared {
		return ""
	}
	slices.Sort(candidates)
	return engine.Nearest(name, candidates)
}
