package energyplus

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/dictionary"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// The forms of models.
const (
	formatIDF    = "idf"
	formatEpJSON = "epjson"
)

// model is a model for EnergyPlus, whichever form it was written in.
type model struct {
	format  string
	objects []*modelObject
	lines   *engine.Lines
	// written are the objects of an IDF, source is the document of an epJSON.
	written []idfObject
	source  *tree.Tree
	// brokenAt is the offset of the first invalid UTF-8, or -1.
	brokenAt int
}

// modelObject is an object of a model.
type modelObject struct {
	// class is the name of the class as it is written; key is the same for all spellings.
	class string
	key   string
	// spec is nil where the version has no such class.
	spec *dictionary.Class
	// label is the name of the object. In an epJSON every object has one.
	label  modelField
	fields []modelField
	// groups is the number of repeated groups.
	groups int
	// offset is the place of an object in an IDF, count the number of its fields without blank ones at the end.
	offset, count int
}

// modelField is a field that is not blank.
type modelField struct {
	// spec is nil where the class has no such field.
	spec *dictionary.Field
	// name is that of the member in an epJSON.
	name string
	// index is the place of spec among the fields of its class or its group.
	index int
	// group counts repeated groups from 0; it is outside of them for all other fields.
	group int
	kind  valueKind
	text  string
	// offset is the place in an IDF, where open says what is in place of a comma.
	offset int
	open   tokenEnd
}

const outside = -1

// valueKind is the type of a value as it is written.
type valueKind byte

const (
	// writtenText is a text of an IDF, which may mean a number.
	writtenText valueKind = iota
	jsonText
	jsonNumber
	jsonOther
)

// foldName is how a class or a name is compared: EnergyPlus ignores the case of ASCII letters, but not that of others.
func foldName(text string) string {
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

// idfModel reads a model whose objects describe has yet to make.
func idfModel(text []byte, limits engine.Limits) (*model, *engine.Finding) {
	m := &model{format: formatIDF, lines: engine.NewLines(text, limits.MaxExcerpt), brokenAt: -1}
	objects, fault := readIDF(text, limits)
	if fault != nil {
		f := engine.Failure(fault.Code, fault.Message)
		f = m.lines.PlaceAt(f, fault.At)
		return nil, &f
	}
	if !utf8.Valid(text) {
		m.brokenAt = engine.BadTextAt(text)
	}
	m.written = objects
	return m, nil
}

// epJSONModel reads a document of the form {class: {name: {field: value}}}, whose objects describe has yet to make.
func epJSONModel(t *tree.Tree) (*model, *engine.Finding) {
	m := &model{format: formatEpJSON, lines: t.Lines, source: t, brokenAt: -1}
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
func (m *model) misshapen(path []string, message string) *engine.Finding {
	f := engine.Failure("energyplus.malformed", message)
	f.Path = engine.Pointer(path...)
	root := &tree.Spot{}
	at := root.At(path)
	m.source.Locate(root)
	f = m.lines.PlaceAt(f, at.Value)
	return &f
}

// describe makes the objects of the model by a dictionary.
func (m *model) describe(d *dictionary.Dictionary) {
	if m.source != nil {
		m.describeEpJSON(d)
		return
	}
	blank := map[string]modelObject{}
	m.objects = make([]*modelObject, 0, len(m.written))
	for _, written := range m.written {
		o, seen := blank[written.class.text]
		if !seen {
			o = modelObject{class: written.class.text, key: foldName(written.class.text)}
			o.spec = d.Class(o.key)
			blank[written.class.text] = o
		}
		o.offset = written.class.offset
		o.take(written.fields)
		m.objects = append(m.objects, &o)
	}
	m.written = nil
}

// take finds out which field each text of an IDF is.
func (o *modelObject) take(tokens []idfToken) {
	o.count = len(tokens)
	for o.count > 0 && tokens[o.count-1].text == "" {
		o.count--
	}
	blank := len(tokens) - o.count
	tokens = tokens[:o.count]
	if o.spec == nil || o.spec.Label != nil {
		if len(tokens) > 0 {
			o.label = modelField{group: outside, text: tokens[0].text, offset: tokens[0].offset, open: tokens[0].open}
			tokens = tokens[1:]
		} else {
			blank--
		}
	}
	if o.spec == nil {
		return
	}
	o.label.spec = o.spec.Label
	o.fields = make([]modelField, 0, len(tokens))
	for i, token := range tokens {
		if token.text != "" && !o.takeField(i, token) {
			return
		}
	}
	if o.spec.Repeated != nil {
		// As in EnergyPlus a group of blank fields is one, unless it is not whole.
		size, repeated := len(o.spec.Repeated.Fields), len(tokens)-len(o.spec.Fields)
		o.groups = max((repeated+blank)/size, (repeated+size-1)/size, 0)
	}
}

// takeField adds a text of an IDF by its place behind the label. It says whether the class has such a field.
func (o *modelObject) takeField(at int, token idfToken) bool {
	f := modelField{group: outside, index: at, text: token.text, offset: token.offset, open: token.open}
	switch repeated := at - len(o.spec.Fields); {
	case repeated < 0:
		f.spec = o.spec.Fields[at]
	case o.spec.Repeated == nil:
		return false
	default:
		size := len(o.spec.Repeated.Fields)
		f.group, f.index = repeated/size, repeated%size
		f.spec = o.spec.Repeated.Fields[f.index]
	}
	f.name = f.spec.Name
	o.fields = append(o.fields, f)
	return true
}

func (m *model) describeEpJSON(d *dictionary.Dictionary) {
	classes, _ := m.source.Value.(map[string]any)
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		key := foldName(class)
		spec := d.Class(key)
		objects, _ := classes[class].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			o := &modelObject{class: class, key: key, spec: spec}
			o.label = modelField{group: outside, text: name, kind: jsonText}
			if spec != nil {
				o.label.spec = spec.Label
				members, _ := objects[name].(map[string]any)
				o.flatten(members, spec.Fields, outside)
			}
			m.objects = append(m.objects, o)
		}
	}
}

// flatten takes the members of an object, and behind them those of its groups.
func (o *modelObject) flatten(members map[string]any, specs []*dictionary.Field, group int) {
	var groups []any
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if group == outside && o.spec.Repeated != nil && name == o.spec.Repeated.Name {
			if list, isList := members[name].([]any); isList && areObjects(list) {
				groups = list
				continue
			}
		}
		f := jsonField(name, members[name])
		f.group = group
		if f.index = dictionary.Find(specs, name); f.index >= 0 {
			f.spec = specs[f.index]
		} else if group == outside && addedByEnergyPlus(name) {
			continue
		}
		o.fields = append(o.fields, f)
	}
	for i, item := range groups {
		inner, _ := item.(map[string]any)
		o.flatten(inner, o.spec.Repeated.Fields, i)
	}
	if group == outside {
		o.groups = len(groups)
	}
}

func jsonField(name string, value any) modelField {
	switch value := value.(type) {
	case string:
		return modelField{name: name, text: strings.TrimSpace(value), kind: jsonText}
	case json.Number:
		return modelField{name: name, text: value.String(), kind: jsonNumber}
	default:
		return modelField{name: name, kind: jsonOther}
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

// field returns a field of the object, outside of its groups, by its name. It is nil where it is blank or missing.
func (o *modelObject) field(name string) *modelField {
	for i := range o.fields {
		f := &o.fields[i]
		if f.group != outside {
			// The fields of groups are behind all others.
			return nil
		}
		if f.name == name {
			return f
		}
	}
	return nil
}

// path is where a field stands in the epJSON form of the model. Without a field it is the path of the object.
func (m *model) path(o *modelObject, f *modelField) []string {
	clip := func(text string) string { return text }
	if m.format == formatIDF {
		clip = engine.Clip
	}
	path := []string{clip(o.class)}
	if m.format == formatEpJSON || o.spec != nil && o.spec.Label != nil {
		path = append(path, clip(o.label.text))
	}
	if f == nil || f == &o.label {
		return path
	}
	if f.group != outside {
		path = append(path, o.spec.Repeated.Name, strconv.Itoa(f.group))
	}
	return append(path, f.name)
}
