package energyplus

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
	// source is the document of an epJSON, which finds lines.
	source *tree.Tree
	// brokenAt is the offset of what is no UTF-8, -1 where all is.
	brokenAt int
}

// modelObject is an object of a model.
type modelObject struct {
	class  string
	key    string
	group  modelGroup
	spec   *modelClass
	name   string
	fields []modelField
	place  modelPlace
}

// classBook describes the classes of one model.
type classBook struct {
	known map[string]*modelClass
	seen  map[string]modelObject
}

// modelField is a text of an object. Fields of an IDF are known by their position from 1, those of an epJSON by name.
type modelField struct {
	position int
	name     string
	text     string
	place    modelPlace
}

// foldName is how a class or a name is compared: EnergyPlus ignores case.
func foldName(text string) string {
	return strings.ToLower(text)
}

// object returns an object of a class in which nothing but the class is filled in.
func (b *classBook) object(class string) *modelObject {
	o, seen := b.seen[class]
	if !seen {
		o = modelObject{class: class, key: foldName(class)}
		o.spec = b.known[o.key]
		o.group = groupOf(o.key, o.spec)
		b.seen[class] = o
	}
	return &o
}

func idfModel(text []byte, classes map[string]*modelClass, limits engine.Limits) (*model, *engine.Finding) {
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
	book := &classBook{known: classes, seen: map[string]modelObject{}}
	for _, object := range objects {
		o := book.object(object.class.text)
		o.place = modelPlace{offset: object.class.offset, path: []string{engine.Clip(o.class)}}
		o.fields = make([]modelField, 0, len(object.fields))
		for i, token := range object.fields {
			at := modelPlace{offset: token.offset}
			o.fields = append(o.fields, modelField{position: i + 1, text: token.text, place: at})
		}
		if hasName := o.group != "" || o.spec != nil && !o.spec.noName; hasName && len(o.fields) > 0 {
			o.name = o.fields[0].text
			o.place.path = append(o.place.path, engine.Clip(o.name))
		}
		m.objects = append(m.objects, o)
	}
	return m, nil
}

// epJSONModel takes the objects of a document of the form {class: {name: {field: value}}}.
func epJSONModel(t *tree.Tree, known map[string]*modelClass) (*model, *engine.Finding) {
	m := &model{format: formatEpJSON, lines: t.Lines, source: t, brokenAt: -1}
	classes, ok := t.Value.(map[string]any)
	if !ok {
		return nil, m.misshapen(nil, "a model is an object of classes")
	}
	book := &classBook{known: known, seen: map[string]modelObject{}}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		objects, ok := classes[class].(map[string]any)
		if !ok {
			return nil, m.misshapen([]string{class}, "a class is an object of named objects")
		}
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			path := []string{class, name}
			members, ok := objects[name].(map[string]any)
			if !ok {
				return nil, m.misshapen(path, "an object has its fields as members")
			}
			o := book.object(class)
			o.name, o.place = name, modelPlace{path: path}
			o.flatten(path, members)
			m.objects = append(m.objects, o)
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

// flatten takes texts and numbers, also those in lists of objects, by the names of their members.
func (o *modelObject) flatten(path []string, members map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := append(slices.Clone(path), name)
		switch v := members[name].(type) {
		case string:
			o.fields = append(o.fields, modelField{name: name, text: strings.TrimSpace(v), place: modelPlace{path: at}})
		case json.Number:
			o.fields = append(o.fields, modelField{name: name, text: v.String(), place: modelPlace{path: at}})
		case []any:
			for i, item := range v {
				if inner, ok := item.(map[string]any); ok {
					o.flatten(append(slices.Clone(at), strconv.Itoa(i)), inner)
				}
			}
		}
	}
}

// count returns how many fields an object of an IDF has, without empty ones at its end.
func (o *modelObject) count() int {
	n := len(o.fields)
	for n > 0 && o.fields[n-1].text == "" {
		n--
	}
	return n
}

// report places what was found and hands it over in the order of the document.
func (r *modelRun) report(c *engine.Collector) {
	if r.model.source != nil {
		root := &tree.Spot{}
		spots := make([]*tree.Spot, 0, len(r.issues))
		for _, one := range r.issues {
			spots = append(spots, root.At(one.place.path))
		}
		r.model.source.Locate(root)
		for i := range r.issues {
			if !r.issues[i].place.none {
				r.issues[i].at = spots[i].Value
			}
		}
	}
	slices.SortStableFunc(r.issues, func(a, b modelIssue) int { return engine.ComparePositions(a.at, b.at) })
	for _, one := range r.issues {
		c.Add("", r.model.lines.PlaceAt(one.finding, one.at))
	}
	for _, code := range slices.Sorted(maps.Keys(r.unlisted)) {
		f := r.unlisted[code]
		c.AddFolded("", *f, f.Count, nil)
	}
}
