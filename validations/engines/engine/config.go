package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeConfig reads a configuration strictly: an unknown member is a fault, not ignored.
func DecodeConfig[T any](config json.RawMessage, target *T) []ConfigError {
	if len(bytes.TrimSpace(config)) == 0 {
		return []ConfigError{{Code: "config.empty", Detail: "the configuration is empty"}}
	}
	err := jsonv2.Unmarshal(config, target, jsonv2.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if semantic, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		if errors.Is(err, jsonv2.ErrUnknownName) {
			return []ConfigError{UnknownMember(string(semantic.JSONPointer), semantic.GoType)}
		}
		detail := fmt.Sprintf("a JSON %s is not allowed here", cmp.Or(kindNames[semantic.JSONKind], "value"))
		var members map[string]json.RawMessage
		if semantic.JSONPointer == "/schema" && json.Unmarshal(config, &members) == nil && members["schema"][0] == '"' {
			detail += BundleHint(Plain(members["schema"]))
		}
		return Refuse(string(semantic.JSONPointer), codeType, detail)
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		detail := "not valid JSON: " + Clip(syntactic.Err.Error())
		return Refuse(string(syntactic.JSONPointer), "config.malformed", detail)
	}
	return Refuse("", "config.malformed", Clip(err.Error()))
}

// The codes of faults that are about one member, without which the rest of a configuration can be checked.
const (
	codeUnknown = "config.unknown"
	codeType    = "config.type"
)

// UnknownMember is the fault of a member that a struct does not have, with the one that may be meant.
func UnknownMember(pointer string, of reflect.Type) ConfigError {
	fault := NewConfigError(pointer, codeUnknown, "is not known here")
	fault.Meant = Nearest(jsontext.Pointer(pointer).LastToken(), memberNames(of))
	fault.Detail += DidYouMean(fault.Meant)
	return fault
}

// HasMember says whether a struct has a member of this name.
func HasMember(of reflect.Type, name string) bool {
	return slices.Contains(memberNames(of), name)
}

// memberNames are the names that the members of a struct have in JSON.
func memberNames(of reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// FewWarnings are the first of the warnings about members that check nothing, and how many more there are.
func FewWarnings(warnings []ConfigError, code string) []ConfigError {
	const most = 20
	more := len(warnings) - most
	if more <= 0 {
		return warnings
	}
	words := Plural(more, "more member checks nothing", "more members check nothing")
	return append(warnings[:most], NewConfigError("/schema", code, words))
}

// Repair returns a configuration without the members that are unknown or of the wrong type, so that the rest can be
// checked as well. A member whose name is a slip gets the name that is meant. It returns false if there is nothing to
// repair.
func Repair(config json.RawMessage, faults []ConfigError) (json.RawMessage, bool) {
	decoder := json.NewDecoder(bytes.NewReader(config))
	decoder.UseNumber() // Numbers keep their digits.
	var root any
	if decoder.Decode(&root) != nil {
		return nil, false
	}
	repaired := false
	for _, fault := range faults {
		if (fault.Code == codeUnknown || fault.Code == codeType) && fault.Pointer != "" {
			repaired = repairMember(root, fault) || repaired
		}
	}
	if !repaired {
		return nil, false
	}
	text, err := json.Marshal(root)
	return text, err == nil
}

// repairMember drops or renames one member of an object.
func repairMember(root any, fault ConfigError) bool {
	pointer := jsontext.Pointer(fault.Pointer)
	parent, _ := ValueAt(root, pointer.Parent().Tokens())
	object, ok := parent.(map[string]any)
	name := pointer.LastToken()
	value, there := object[name]
	if !ok || !there {
		return false
	}
	delete(object, name)
	if _, taken := object[fault.Meant]; fault.Meant != "" && !taken {
		object[fault.Meant] = value
	}
	return true
}

// ValueAt returns the value that tokens lead to, through objects and lists.
func ValueAt(value any, tokens iter.Seq[string]) (any, bool) {
	for token := range tokens {
		member, there := Member(value, token)
		if !there {
			return nil, false
		}
		value = member
	}
	return value, true
}

// Member returns a member of an object or an element of a list by its token.
func Member(value any, token string) (any, bool) {
	switch inside := value.(type) {
	case map[string]any:
		member, there := inside[token]
		return member, there
	case []any:
		i, err := strconv.Atoi(token)
		if err == nil && i >= 0 && i < len(inside) && strconv.Itoa(i) == token {
			return inside[i], true
		}
	}
	return nil, false
}

// kindNames are the types of values in JSON by their first characters.
var kindNames = map[jsontext.Kind]string{
	'{': "object", '[': "array", '"': "string", '0': "number", 't': "boolean", 'f': "boolean", 'n': "null",
}

// Pointer joins tokens to a JSON pointer.
func Pointer(tokens ...string) string {
	var pointer jsontext.Pointer
	for _, token := range tokens {
		pointer = pointer.AppendToken(token)
	}
	return string(pointer)
}

// ItemPointer points at a member of an item of a list, as in /rules/0/assert.
func ItemPointer(list string, i int, member string) string {
	return Pointer(list, strconv.Itoa(i), member)
}
