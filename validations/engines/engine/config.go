package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
			return []ConfigError{{string(semantic.JSONPointer), "config.unknown", "is not known here"}}
		}
		detail := fmt.Sprintf("a JSON %s does not fit here", kindName(semantic.JSONKind))
		return []ConfigError{{string(semantic.JSONPointer), "config.type", detail}}
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		detail := "not valid JSON: " + Clip(syntactic.Err.Error())
		return []ConfigError{{string(syntactic.JSONPointer), "config.malformed", detail}}
	}
	return []ConfigError{{"", "config.malformed", Clip(err.Error())}}
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "value"
	}
}

// escapePointer escapes a token of a JSON pointer (RFC 6901).
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer joins tokens to a JSON pointer.
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(escapePointer.Replace(token))
	}
	return b.String()
}

// ItemPointer points at a member of an item of a list, as in /rules/0/assert.
func ItemPointer(list string, i int, member string) string {
	return Pointer(list, strconv.Itoa(i), member)
}
