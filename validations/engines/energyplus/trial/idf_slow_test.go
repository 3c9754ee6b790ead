//go:build slow

package trial_test

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

// goodModel is an IDF without faults, taken apart.
type goodModel struct {
	text    string
	objects []object
}

// object is an object of an IDF: its class and its fields, the name among them.
type object struct {
	class  token
	fields []token
	spec   *model.Class
	// end is the place behind the semicolon.
	end int
}

// token is a text of an IDF without white space around it, and its place.
type token struct {
	text       string
	start, end int
}

// parse takes an IDF apart that is known to be good. Objects of unknown classes have no spec.
func parse(text string, d *model.Dictionary) goodModel {
	m := goodModel{text: text}
	tokens := []token{}
	plain := withoutComments(text)
	for begin, at := 0, 0; at < len(plain); at++ {
		if plain[at] != ',' && plain[at] != ';' {
			continue
		}
		raw := plain[begin:at]
		trimmed := strings.TrimSpace(raw)
		start := begin + strings.Index(raw, trimmed)
		tokens = append(tokens, token{text: trimmed, start: start, end: start + len(trimmed)})
		begin = at + 1
		if plain[at] == ';' {
			o := object{class: tokens[0], fields: tokens[1:], spec: d.Class(tokens[0].text), end: begin}
			m.objects = append(m.objects, o)
			tokens = []token{}
		}
	}
	return m
}

// withoutComments replaces comments by spaces, so that places stay the same.
func withoutComments(text string) string {
	plain := []byte(text)
	comment := false
	for i, char := range plain {
		switch {
		case char == '\n' || char == '\r':
			comment = false
		case char == '!' || comment:
			comment = true
			plain[i] = ' '
		}
	}
	return string(plain)
}

// field describes a field by its place in the IDF. It is nil for one that the class does not have.
func (o object) field(at int) *model.FieldSpec {
	if o.spec == nil {
		return nil
	}
	if o.spec.Label != nil {
		if at == 0 {
			return o.spec.Label
		}
		at--
	}
	if at < len(o.spec.Fields) {
		return o.spec.Fields[at]
	}
	if o.spec.Repeated == nil {
		return nil
	}
	return o.spec.Repeated.Fields[(at-len(o.spec.Fields))%len(o.spec.Repeated.Fields)]
}
