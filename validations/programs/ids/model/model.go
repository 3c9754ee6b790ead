// Package model reads IFC models and answers what objects have: types, properties, materials, classifications, wholes,
// and numbers in units of SI. It keeps only the classes that its caller needs, and knows nothing of specifications.
package model

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
	"github.com/simplevalidations/simplevalidations/validations/programs/ids/step"
)

// Model is an IFC model with the relations between its objects. Objects are known by their places in the file.
type Model struct {
	file   *step.File
	schema *ifc.Schema
	work   *port.Work
	edges  [kindsOfRelations]relation
	units  map[string]conversion
	// unknown are keywords that the schema does not have, with how often each occurs.
	unknown map[string]int
	// dangling are references that lead nowhere.
	dangling     []dangling
	danglingMore int
	// members and valueAttributes are tables that are made once for each model.
	members         map[string]string
	valueAttributes map[string][][2]string
}

// dangling is a reference to an instance that the file does not have.
type dangling struct {
	from int
	to   uint64
}

// kind of relation between two objects.
const (
	ofType = iota
	ofSet
	ofMaterial
	ofClassification
	ofAggregate
	ofNest
	ofContainer
	ofGroup
	ofVoid
	ofFill
	// ofExtension leads from materials and profiles to their properties.
	ofExtension

	kindsOfRelations
)

// relation has the edges of one kind, in the order of the objects that they begin at.
type relation []edge

type edge struct{ from, to int32 }

const edgeSize = 8

// What looking an object up costs, in bytes that are read in the same time.
const costOfLookup = 64

// from are the edges of a kind that begin at an object.
func (m *Model) from(kind, object int) []edge {
	r := m.edges[kind]
	if !m.work.Spend(costOfLookup) {
		return nil
	}
	begin, _ := slices.BinarySearchFunc(r, object,
		func(e edge, object int) int { return cmp.Compare(int(e.from), object) })
	end := begin
	for end < len(r) && int(r[end].from) == object {
		end++
	}
	return r[begin:end]
}

// relating says how a class of relations connects objects: the attribute with those at whose end an edge begins, and
// the attribute with those that it leads to. One of both is a list.
type relating struct {
	class, from, to string
	kind            int
}

// relatings are the classes that relate objects. Classes that a schema lacks are left out.
func relatings() []relating {
	return []relating{
		{"IFCRELDEFINESBYTYPE", "RelatedObjects", "RelatingType", ofType},
		{"IFCRELDEFINESBYPROPERTIES", "RelatedObjects", "RelatingPropertyDefinition", ofSet},
		{"IFCRELASSOCIATESMATERIAL", "RelatedObjects", "RelatingMaterial", ofMaterial},
		{"IFCRELASSOCIATESCLASSIFICATION", "RelatedObjects", "RelatingClassification", ofClassification},
		{"IFCEXTERNALREFERENCERELATIONSHIP", "RelatedResourceObjects", "RelatingReference", ofClassification},
		{"IFCRELAGGREGATES", "RelatedObjects", "RelatingObject", ofAggregate},
		{"IFCRELNESTS", "RelatedObjects", "RelatingObject", ofNest},
		{"IFCRELCONTAINEDINSPATIALSTRUCTURE", "RelatedElements", "RelatingStructure", ofContainer},
		{"IFCRELASSIGNSTOGROUP", "RelatedObjects", "RelatingGroup", ofGroup},
		{"IFCRELVOIDSELEMENT", "RelatedOpeningElement", "RelatingBuildingElement", ofVoid},
		{"IFCRELFILLSELEMENT", "RelatedBuildingElement", "RelatingOpeningElement", ofFill},
		{"IFCTYPEOBJECT", "", "HasPropertySets", ofSet},
		{"IFCMATERIALPROPERTIES", "Material", "", ofExtension},
		{"IFCPROFILEPROPERTIES", "ProfileDefinition", "", ofExtension},
	}
}

// NewWork returns work for a check, of which a unit is a byte that is read, or an object that is visited.
func NewWork(units int64) *port.Work {
	return port.NewWork(units, "needed to read more than %d bytes and objects of the model")
}

// Read reads a model and keeps so many bytes of it at most. Choose loads the schema of a name, and says for each of its
// classes, by its number, whether objects of it are needed. The finding says why a model cannot be checked.
func Read(
	document io.Reader, size, maxHeld int64, w *port.Work, choose func(schema string) (*ifc.Schema, []bool, error),
) (*Model, *port.Finding, error) {
	m := &Model{
		work: w, units: map[string]conversion{}, unknown: map[string]int{},
		members: members(), valueAttributes: valueAttributes(),
	}
	var loadErr error
	begin := func(h step.Header) (step.Chooser, *step.Fault) {
		name, fault := schemaOf(h)
		if fault != nil {
			return nil, fault
		}
		var needed []bool
		if m.schema, needed, loadErr = choose(name); loadErr != nil {
			return nil, &step.Fault{Code: "ids.schema"}
		}
		return m.chooser(needed), nil
	}
	file, fault, err := step.Read(document, size, maxHeld, begin)
	if err := cmp.Or(err, loadErr); err != nil {
		return nil, nil, err
	}
	if fault == nil {
		m.file = file
		fault = m.connect(maxHeld)
	}
	if fault != nil {
		return nil, new(located(findings.Failure(fault.Code, fault.Message), fault.At)), nil
	}
	m.readUnits()
	return m, nil, nil
}

// schemaOf is the schema that a header names.
func schemaOf(h step.Header) (string, *step.Fault) {
	if len(h.Schemas) == 0 {
		return "", &step.Fault{Code: "step.header", Message: "the header names no schema (FILE_SCHEMA)", At: h.At}
	}
	name := ifc.NameOf(h.Schemas[0])
	if name == "" {
		message := fmt.Sprintf("the file is of the schema %s; models of %s can be checked",
			findings.Quote(h.Schemas[0]), strings.Join(ifc.Names(), ", "))
		return "", &step.Fault{Code: "ids.schema", Message: message, At: h.At}
	}
	return name, nil
}

// maxUnknown is how many different keywords are counted that the schema lacks.
const maxUnknown = 100

// chooser keeps the instances of the planned classes.
func (m *Model) chooser(kept []bool) step.Chooser {
	numbers := make(map[string]uint16, len(m.schema.Classes))
	for _, c := range m.schema.Classes {
		numbers[c.Name] = c.Number
	}
	return func(keyword []byte) (uint16, bool) {
		number, known := numbers[string(keyword)]
		if known {
			return number, kept[number]
		}
		if _, seen := m.unknown[string(keyword)]; seen || len(m.unknown) < maxUnknown {
			m.unknown[string(keyword)]++
		}
		return 0, false
	}
}

// connect finds the relations between the objects. They are counted first, so that no list of them ever grows.
func (m *Model) connect(most int64) *step.Fault {
	counts := [kindsOfRelations]int{}
	left := (most - m.file.Held()) / edgeSize
	for kind, e := range m.allEdges() {
		counts[kind]++
		left--
		if left < 0 {
			message := "the relations of the model take too much memory"
			return &step.Fault{Code: "step.too_large", Message: message, At: m.place(int(e.from))}
		}
	}
	for kind, count := range counts {
		m.edges[kind] = make(relation, 0, count)
	}
	for kind, e := range m.allEdges() {
		m.edges[kind] = append(m.edges[kind], e)
	}
	for _, edges := range m.edges {
		slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.from, b.from) })
	}
	return nil
}

// allEdges are the edges of all kinds, in the order of the file.
func (m *Model) allEdges() iter.Seq2[int, edge] {
	byClass := m.relatings()
	return func(yield func(int, edge) bool) {
		for object := range m.file.Len() {
			for _, how := range byClass[m.file.At(object).Class] {
				for from, to := range m.related(object, how) {
					//nolint:gosec // The number of objects is bounded by the memory for them.
					if !yield(how.kind, edge{int32(from), int32(to)}) {
						return
					}
				}
			}
		}
	}
}

// relatings are the ways in which objects relate others, by the number of their class.
func (m *Model) relatings() [][]relating {
	byClass := make([][]relating, len(m.schema.Classes))
	for _, one := range relatings() {
		for _, c := range m.schema.Classes {
			if c.Is(one.class) {
				byClass[c.Number] = append(byClass[c.Number], one)
			}
		}
	}
	return byClass
}

// related are the edges of one object. Where it names no attribute for an end, it is that end itself.
func (m *Model) related(object int, how relating) iter.Seq2[int, int] {
	begins, ends := m.end(object, how.from), m.end(object, how.to)
	return func(yield func(int, int) bool) {
		for from := range begins {
			for to := range ends {
				if !m.work.Spend(1) || !yield(from, to) {
					return
				}
			}
		}
	}
}

// end are the objects that an attribute refers to, or the object itself.
func (m *Model) end(object int, attribute string) iter.Seq[int] {
	if attribute == "" {
		return func(yield func(int) bool) { yield(object) }
	}
	return m.objects(object, m.named(object, attribute))
}

// Len is how many objects there are.
func (m *Model) Len() int {
	return m.file.Len()
}

// Class is the class of an object.
func (m *Model) Class(object int) *ifc.Class {
	return m.schema.Classes[m.file.At(object).Class]
}

// value is the value of an attribute by its place.
func (m *Model) value(object, attribute int) step.Value {
	parameters := m.file.Parameters(m.file.At(object))
	if attribute < 0 || !m.work.Spend(len(parameters)) {
		return nil
	}
	return parameters.Element(attribute)
}

// named is the value of an attribute by its name; empty where the class has no such attribute.
func (m *Model) named(object int, attribute string) step.Value {
	return m.value(object, m.Class(object).Find(attribute))
}

// text is the text of an attribute; empty where it has none.
func (m *Model) text(object int, attribute string) string {
	_, v := m.named(object, attribute).Typed()
	if kind := v.Kind(); kind != step.Text && kind != step.Enumeration {
		return ""
	}
	return v.Text()
}

// object is the object that a value refers to, false where that was not kept.
func (m *Model) object(from int, v step.Value) (int, bool) {
	id, ok := v.Reference()
	if !ok || !m.work.Spend(costOfLookup) {
		return 0, false
	}
	object, found := m.file.Find(id)
	if !found && !m.file.Has(id) {
		m.noteDangling(from, id)
	}
	return object, found
}

// maxDangling is how many references that lead nowhere are listed.
const maxDangling = 100

func (m *Model) noteDangling(from int, id uint64) {
	if slices.Contains(m.dangling, dangling{from, id}) {
		return
	}
	if len(m.dangling) == maxDangling {
		m.danglingMore++
		return
	}
	m.dangling = append(m.dangling, dangling{from, id})
}

// objects are the objects that a value refers to: one, those of a list, or those of a list with the name of its type.
func (m *Model) objects(from int, v step.Value) iter.Seq[int] {
	_, v = v.Typed()
	return func(yield func(int) bool) {
		if object, ok := m.object(from, v); ok {
			yield(object)
			return
		}
		for element := range v.Elements() {
			if object, ok := m.object(from, element); ok && !yield(object) {
				return
			}
		}
	}
}
