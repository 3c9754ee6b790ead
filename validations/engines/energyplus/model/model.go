// Package model reads models for EnergyPlus from IDF and epJSON, and describes their objects by a data dictionary. It
// also collects what the checks of a model find.
package model

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// The forms of models.
const (
	formatIDF    = "idf"
	formatEpJSON = "epjson"
)

// Model is a model for EnergyPlus, whichever form it was written in.
type Model struct {
	Format  string
	Objects []*Object
	Lines   *engine.Lines
	// written are the objects of an IDF, source is the document of an epJSON.
	written []idfObject
	source  *tree.Tree
	// brokenAt is the offset of the first invalid UTF-8, or -1.
	brokenAt int
	// dictionary is the one that the objects are described by.
	dictionary *Dictionary
}

// Object is an object of a model.
type Object struct {
	// Class is the name of the class as it is written; Key is the same for all spellings.
	Class string
	Key   string
	// Spec is nil where the version has no such class.
	Spec *Class
	// Label is the name of the object. In an epJSON every object has one.
	Label  Field
	Fields []Field
	// Groups is the number of repeated groups.
	Groups int
	// Offset is the place of an object in an IDF, Count the number of its fields without blank ones at the end.
	Offset, Count int
}

// Field is a field that is not blank.
type Field struct {
	// Spec is nil where the class has no such field.
	Spec *FieldSpec
	// Name is that of the member in an epJSON.
	Name string
	// Index is the place of Spec among the fields of its class or its group.
	Index int
	// Group counts repeated groups from 0; it is Outside of them for all other fields.
	Group int
	Form  Form
	Text  string
	// offset is the place in an IDF, where open says what is in place of a comma.
	offset int
	open   tokenEnd
}

// Outside is the group of fields that are not repeated.
const Outside = -1

// Form is the type of a value as it is written.
type Form byte

// The types of values.
const (
	// WrittenText is a text of an IDF, which may mean a number.
	WrittenText Form = iota
	JSONText
	JSONNumber
	JSONOther
)

// Fold is how a class or a name is compared: EnergyPlus ignores the case of ASCII letters, but not that of others.
func Fold(text string) string {
	folded := []byte(nil)
	for i := range len(text) {
		if text[i] < 'A' || text[i] > 'Z' {
			continue
		}
		if folded == nil {
			folded = []byte(text)
		}
		folded[i] += 'a' - 'A'
	}
	if folded == nil {
		return text
	}
	return string(folded)
}

// ReadIDF reads a model whose objects Describe has yet to make.
func ReadIDF(text []byte, limits engine.Limits) (*Model, *engine.ReadError) {
	objects, fault := parseIDF(text, limits)
	if fault != nil {
		return nil, fault
	}
	return &Model{
		Format: formatIDF, Lines: engine.NewLines(text, limits.MaxExcerpt), brokenAt: engine.BadTextAt(text),
		written: objects,
	}, nil
}

// ReadEpJSON reads a document of the form {class: {name: {field: value}}}, whose objects Describe has yet to make.
func ReadEpJSON(t *tree.Tree) (*Model, *engine.Finding) {
	m := &Model{Format: formatEpJSON, Lines: t.Lines, source: t, brokenAt: -1}
	classes, ok := t.Value.(map[string]any)
	if !ok {
		return nil, m.misshapen(nil, "a model must be an object whose members are classes")
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		objects, ok := classes[class].(map[string]any)
		if !ok {
			return nil, m.misshapen([]string{class}, "a class must be an object whose members are named objects")
		}
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			if _, ok := objects[name].(map[string]any); !ok {
				return nil, m.misshapen([]string{class, name}, "an object must be a JSON object whose members "+
					"are its fields")
			}
		}
	}
	return m, nil
}

// misshapen returns the finding of a model that cannot be read, with its place.
func (m *Model) misshapen(path []string, message string) *engine.Finding {
	f := engine.Failure("energyplus.malformed", message)
	f.Path = engine.Pointer(path...)
	f = m.Lines.PlaceAt(f, m.source.Spots(path)[0].Value)
	return &f
}

// Known are the objects of the classes with these keys, or of all classes that the version has.
func (m *Model) Known(keys ...string) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, o := range m.Objects {
			if o.Spec != nil && (len(keys) == 0 || slices.Contains(keys, o.Key)) && !yield(o) {
				return
			}
		}
	}
}

// Describe makes the objects of the model by a dictionary.
func (m *Model) Describe(d *Dictionary) {
	m.dictionary = d
	if m.source != nil {
		m.describeEpJSON(d)
		return
	}
	blank := map[string]Object{}
	m.Objects = make([]*Object, 0, len(m.written))
	for _, written := range m.written {
		o, seen := blank[written.class.text]
		if !seen {
			o = Object{Class: written.class.text, Key: Fold(written.class.text)}
			o.Spec = d.Class(o.Key)
			blank[written.class.text] = o
		}
		o.Offset = written.class.offset
		o.take(written.fields)
		m.Objects = append(m.Objects, &o)
	}
	m.written = nil
}

// take finds out which field each text of an IDF is.
func (o *Object) take(tokens []idfToken) {
	o.Count = len(tokens)
	for o.Count > 0 && tokens[o.Count-1].text == "" {
		o.Count--
	}
	blank := len(tokens) - o.Count
	tokens = tokens[:o.Count]
	if o.Spec == nil || o.Spec.Label != nil {
		if len(tokens) > 0 {
			o.Label = Field{Group: Outside, Text: tokens[0].text, offset: tokens[0].offset, open: tokens[0].open}
			tokens = tokens[1:]
		} else {
			blank--
		}
	}
	if o.Spec == nil {
		return
	}
	o.Label.Spec = o.Spec.Label
	o.Fields = make([]Field, 0, len(tokens))
	for i, token := range tokens {
		if token.text != "" && !o.takeField(i, token) {
			return
		}
	}
	if o.Spec.Repeated != nil {
		// As in EnergyPlus a group of blank fields is one, unless it is not whole.
		size, repeated := len(o.Spec.Repeated.Fields), len(tokens)-len(o.Spec.Fields)
		o.Groups = max((repeated+blank)/size, (repeated+size-1)/size, 0)
	}
}

// takeField adds a text of an IDF by its place behind the label. It says whether the class has such a field.
func (o *Object) takeField(at int, token idfToken) bool {
	f := Field{Group: Outside, Index: at, Text: token.text, offset: token.offset, open: token.open}
	switch repeated := at - len(o.Spec.Fields); {
	case repeated < 0:
		f.Spec = o.Spec.Fields[at]
	case o.Spec.Repeated == nil:
		return false
	default:
		size := len(o.Spec.Repeated.Fields)
		f.Group, f.Index = repeated/size, repeated%size
		f.Spec = o.Spec.Repeated.Fields[f.Index]
	}
	f.Name = f.Spec.Name
	o.Fields = append(o.Fields, f)
	return true
}

func (m *Model) describeEpJSON(d *Dictionary) {
	classes, _ := m.source.Value.(map[string]any)
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		key := Fold(class)
		spec := d.Class(key)
		objects, _ := classes[class].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			o := &Object{Class: class, Key: key, Spec: spec}
			o.Label = Field{Group: Outside, Text: name, Form: JSONText}
			if spec != nil {
				o.Label.Spec = spec.Label
				members, _ := objects[name].(map[string]any)
				o.flatten(members, spec.Fields, Outside)
			}
			m.Objects = append(m.Objects, o)
		}
	}
}

// flatten takes the members of an object, and behind them those of its groups.
func (o *Object) flatten(members map[string]any, specs []*FieldSpec, group int) {
	var groups []any
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if group == Outside && o.Spec.Repeated != nil && name == o.Spec.Repeated.Name {
			if list, isList := members[name].([]any); isList && areObjects(list) {
				groups = list
				continue
			}
		}
		f := jsonField(name, members[name])
		f.Group = group
		if f.Index = FindField(specs, name); f.Index >= 0 {
			f.Spec = specs[f.Index]
		} else if group == Outside && addedByEnergyPlus(name) {
			continue
		}
		o.Fields = append(o.Fields, f)
	}
	for i, item := range groups {
		inner, _ := item.(map[string]any)
		o.flatten(inner, o.Spec.Repeated.Fields, i)
	}
	if group == Outside {
		o.Groups = len(groups)
	}
}

func jsonField(name string, value any) Field {
	switch value := value.(type) {
	case string:
		return Field{Name: name, Text: strings.TrimSpace(value), Form: JSONText}
	case json.Number:
		return Field{Name: name, Text: value.String(), Form: JSONNumber}
	default:
		return Field{Name: name, Form: JSONOther}
	}
}

func areObjects(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool {
		_, isObject := item.(map[string]any)
		return !isObject
	})
}

// addedByEnergyPlus reports whether EnergyPlus itself writes a member where it turns an IDF into an epJSON.
func addedByEnergyPlus(member string) bool {
	return member == "idf_order" || member == "idf_max_fields" || member == "idf_max_extensible_fields"
}

// Field returns a field of the object, Outside of its groups, by its name. It is nil where it is blank or missing.
func (o *Object) Field(name string) *Field {
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Group != Outside {
			// The fields of groups are behind all others.
			return nil
		}
		if f.Name == name {
			return f
		}
	}
	return nil
}

// path is where a field stands in the epJSON form of the model. Without a field it is the path of the object.
func (m *Model) path(o *Object, f *Field) []string {
	clip := func(text string) string { return text }
	if m.Format == formatIDF {
		clip = engine.Clip
	}
	path := []string{clip(o.Class)}
	if m.Format == formatEpJSON || o.Spec != nil && o.Spec.Label != nil {
		path = append(path, clip(o.Label.Text))
	}
	if f == nil || f == &o.Label {
		return path
	}
	if f.Group != Outside {
		path = append(path, o.Spec.Repeated.Name, strconv.Itoa(f.Group))
	}
	return append(path, f.Name)
}
