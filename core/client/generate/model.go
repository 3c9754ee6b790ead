package main

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// api is what the templates write down.
type api struct {
	// Version is the release of the clients.
	Version    string
	Enums      []enum
	Types      []object
	Operations []call
}

type enum struct {
	Name, Doc string
	Values    []string
}

// object is a body of an answer, or of a request if Sent.
type object struct {
	Name, Doc string
	// Extends is the name of an object all of whose members it has.
	Extends string
	Sent    bool
	// Change says that an absent member is one that stays as it is.
	Change  bool
	Members []field
}

// Own returns the members that are not those of the object that it extends.
func (o object) Own(all []object) []field {
	at := slices.IndexFunc(all, func(other object) bool { return other.Name == o.Extends })
	if at < 0 {
		return o.Members
	}
	return slices.DeleteFunc(slices.Clone(o.Members), func(f field) bool {
		return slices.ContainsFunc(all[at].Members, func(inherited field) bool { return inherited.Name == f.Name })
	})
}

// AllRequired reports whether no member may be left out.
func (o object) AllRequired() bool {
	return !slices.ContainsFunc(o.Members, func(f field) bool { return !f.Required })
}

// Public are the names of all types.
func (a api) Public() []string {
	var all []string
	for _, e := range a.Enums {
		all = append(all, e.Name)
	}
	for _, o := range a.Types {
		all = append(all, o.Name)
	}
	slices.Sort(all)
	return all
}

// Names are those of all bodies that the operations have, in alphabetical order.
func (a api) Names() []string {
	used := make(map[string]bool)
	for _, o := range a.Operations {
		for _, name := range []string{o.Body, o.Result} {
			used[name] = byHand()[o.ID] == "" && !slices.Contains([]string{"", "file", "bytes", "Started"}, name)
		}
		for _, q := range o.Query {
			used[q.Ref] = q.Ref != ""
		}
	}
	maps.DeleteFunc(used, func(_ string, names bool) bool { return !names })
	return slices.Sorted(maps.Keys(used))
}

type field struct {
	Name, Doc string
	Shape
	Required bool
	// Default says that an absent member does not mean zero.
	Default bool
}

// Shape is the type of a value.
type Shape struct {
	// Kind is string, time, int, long, float, bool, map, list, enum or object.
	Kind     string
	Nullable bool
	// Ref is the name of an enum or object.
	Ref string
	// Values are those of an enum without a name.
	Values []string
	Item   *Shape
}

// call is an operation.
type call struct {
	ID, Doc, Method string
	// Path has the parameter's name in braces, Param.
	Path, Param string
	Query       []field
	// Body is the name of the object that is sent, or "file".
	Body string
	// Result is the name of the object that is answered, "Started", "bytes", or empty.
	Result string
	// List says that Result is an item of a list, and Paged that the list has pages.
	List, Paged bool
	// Keyed says that the call takes an idempotency key, and Creates that carrying it out twice does its work twice.
	Keyed, Creates bool
	// IfMatch says that the call can be made on a condition.
	IfMatch bool
}

// byHand are the operations whose methods are not generated, with the reason.
func byHand() map[string]string {
	return map[string]string{
		"startRun":     "it sends a file",
		"streamEvents": "it answers a stream",
		"callBack":     "it is signed",
	}
}

// unread are parameters that other methods send: the waits, the reports and the pages.
func unread() []string {
	return []string{"wait", "format", "page_size", "cursor"}
}

// unrepeatable are the operations without a key that do their work again when they are repeated.
func unrepeatable() []string {
	return []string{"createToken", "createWebhook", "rotateToken", "rotateWebhook"}
}

// read makes the model of a document, without /api/v1/, which is for other clients, and the service itself.
func read(text []byte) (api, error) {
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		return api{}, fmt.Errorf("read the document: %w", err)
	}
	var a api
	for _, path := range d.Paths {
		if !strings.HasPrefix(path.name, "/api/") || strings.HasPrefix(path.name, "/api/v1/") {
			continue
		}
		for _, method := range path.value {
			var o operation
			if err := method.value.Decode(&o); err != nil {
				return api{}, fmt.Errorf("read %s %s: %w", method.name, path.name, err)
			}
			if o.ID != "readSchema" && o.ID != "readReference" {
				a.Operations = append(a.Operations, d.callOf(path.name, strings.ToUpper(method.name), o))
			}
		}
	}
	d.types(&a)
	return a, nil
}

// types adds the types that the operations need, and those that the clients need themselves.
func (d document) types(a *api) {
	answers, bodies := []string{"Run", "Problem", "Readiness"}, []string{}
	for _, o := range a.Operations {
		answers, bodies = append(answers, o.Result), append(bodies, o.Body)
		for _, q := range o.Query {
			answers = append(answers, q.Ref)
		}
	}
	answered, sent := d.reach(answers...), d.reach(bodies...)
	for _, s := range d.Components.Schemas {
		switch {
		case !answered[s.name] && !sent[s.name]:
		case len(s.value.Properties) > 0:
			made := d.objectOf(s.name, s.value, a.Operations)
			made.Sent = !answered[s.name]
			a.Types = append(a.Types, made)
		case len(s.value.Enum) > 0:
			a.Enums = append(a.Enums, enum{Name: s.name, Doc: firstSentence(s.value.Description), Values: s.value.Enum})
		}
	}
	for i := range a.Types {
		a.Types[i].Extends = extended(a.Types[i], a.Types)
	}
}

var parameterOf = regexp.MustCompile(`([a-z]+)/{id}`)

func (d document) callOf(path, method string, o operation) call {
	c := call{ID: o.ID, Doc: docOf(o), Method: method, Path: path, Creates: slices.Contains(unrepeatable(), o.ID)}
	if found := parameterOf.FindStringSubmatch(path); found != nil {
		c.Param = strings.TrimSuffix(found[1], "s") + "_id"
		if c.Param == "workflow_id" {
			c.Param = "workflow" // Its slug will do.
		}
	}
	d.parameters(&c, o)
	c.Creates = c.Creates || c.Keyed
	if content := o.RequestBody.Content; len(content) > 0 {
		c.Body = "file"
		if json, ok := content.find("application/json"); ok && content[0].name != "application/yaml" {
			c.Body = refOf(json.Schema)
		}
	}
	d.answer(&c, o)
	return c
}

// parameters sets what an operation takes besides a body.
func (d document) parameters(c *call, o operation) {
	for _, p := range o.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
		}
		c.Paged = c.Paged || p.Name == "page_size"
		c.Keyed = c.Keyed || p.Name == "Idempotency-Key"
		c.IfMatch = c.IfMatch || p.Name == "If-Match"
		if p.In == "query" && !slices.Contains(unread(), p.Name) {
			c.Query = append(c.Query, field{
				Name: p.Name, Doc: firstSentence(p.Description), Shape: d.shapeOf(p.Name, p.Schema),
			})
		}
	}
}

// answer sets what an operation answers.
func (d document) answer(c *call, o operation) {
	for _, r := range o.Responses {
		if r.name[0] != '2' || len(r.value.Content) == 0 {
			continue
		}
		json, ok := r.value.Content.find("application/json")
		c.Result = "bytes"
		if ok {
			c.Result = refOf(json.Schema)
		}
	}
	switch page, _ := d.Components.Schemas.find(c.Result); {
	case strings.HasSuffix(c.Result, "Page"):
		results, _ := page.Properties.find("results")
		c.Result, c.List = refOf(*results.Items), true
	case c.Result == "Run" && c.Keyed:
		c.Result = "Started"
	}
}

// reach are the schemas with the names, and those that they refer to.
func (d document) reach(names ...string) map[string]bool {
	reached := make(map[string]bool)
	var reach func(name string)
	reach = func(name string) {
		if reached[name] || name == "" {
			return
		}
		reached[name] = true
		s, _ := d.Components.Schemas.find(name)
		for _, member := range s.Properties {
			for _, one := range append([]schema{member.value}, member.value.OneOf...) {
				if one.Items != nil {
					reach(refOf(*one.Items))
				}
				reach(refOf(one))
			}
		}
	}
	for _, name := range names {
		reach(name)
	}
	return reached
}

func (d document) objectOf(name string, s schema, operations []call) object {
	made := object{Name: name, Doc: firstSentence(s.Description)}
	made.Change = slices.ContainsFunc(operations, func(c call) bool {
		return c.Method == http.MethodPatch && c.Body == name
	})
	for _, m := range s.Properties {
		made.Members = append(made.Members, field{
			Name: m.name, Doc: firstSentence(m.value.Description), Shape: d.shapeOf(m.name, m.value),
			Required: slices.Contains(s.Required, m.name),
			Default:  m.value.Default != nil && m.value.Default != 0 && m.value.Default != false,
		})
	}
	return made
}

func (d document) shapeOf(name string, s schema) Shape {
	if len(s.OneOf) > 0 {
		made := d.shapeOf(name, s.OneOf[0])
		made.Nullable = true
		return made
	}
	if ref := refOf(s); ref != "" {
		target, _ := d.Components.Schemas.find(ref)
		switch {
		case len(target.Properties) > 0:
			return Shape{Kind: "object", Ref: ref}
		case len(target.Enum) > 0:
			return Shape{Kind: "enum", Ref: ref}
		default:
			return d.shapeOf(name, target)
		}
	}
	made := Shape{Kind: kindOf(name, s), Nullable: s.nullable(), Values: s.Enum}
	if s.Items != nil {
		item := d.shapeOf(name, *s.Items)
		made.Item = &item
	}
	return made
}

// kindOf is the kind of a value without a name.
func kindOf(name string, s schema) string {
	kind := "string"
	if len(s.Type) > 0 {
		kind = s.Type[0]
	}
	kinds := map[string]string{
		"number": "float", "boolean": "bool", "object": "map", "array": "list", "string": "string",
	}
	switch {
	case kind == "integer" && (strings.HasSuffix(name, "_ms") || strings.HasSuffix(name, "size") || s.nullable()):
		return "long"
	case kind == "integer":
		return "int"
	case s.Format == "date-time":
		return "time"
	}
	return kinds[kind]
}

func refOf(s schema) string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// extended finds the object that has the most of another's members and no others.
func extended(o object, all []object) string {
	const enough = 5
	best, count := "", enough-1
	for _, other := range all {
		if other.Name == o.Name || other.Sent != o.Sent || len(other.Members) >= len(o.Members) {
			continue
		}
		within := !slices.ContainsFunc(other.Members, func(f field) bool {
			at := slices.IndexFunc(o.Members, func(own field) bool { return own.Name == f.Name })
			return at < 0 || !reflect.DeepEqual(o.Members[at].Shape, f.Shape)
		})
		if within && len(other.Members) > count {
			best, count = other.Name, len(other.Members)
		}
	}
	return best
}
