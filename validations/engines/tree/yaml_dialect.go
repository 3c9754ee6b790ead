package tree

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// Patterns of what the parser refuses although it is YAML 1.2: byte order marks beside the comments before a document,
// the directive, and in JSON the escapes of pairs of surrogates.
var (
	documentPrefix = regexp.MustCompile(
		`(?:^|[\r\n]\.\.\.(?:[ \t][^\r\n]*)?[\r\n])(?:\x{FEFF}|[ \t]*(?:#[^\r\n]*)?[\r\n])+`)
	versionDirective = regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\r?\n)*%YAML[ \t]+1\.[2-9][ \t\r\n]`)
	jsonEscape       = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.`)
)

// withoutMarks leaves the byte order marks before a document out, as they are where files were joined.
func withoutMarks(text []byte) []byte {
	if !bytes.Contains(text, []byte(engine.BOM)) {
		return text
	}
	return documentPrefix.ReplaceAllFunc(text, func(prefix []byte) []byte {
		return bytes.ReplaceAll(prefix, []byte(engine.BOM), nil)
	})
}

// forParser writes a text as the parser, which is one of YAML 1.1, takes it. Lines stay as they are; columns move a
// little behind a character that JSON escapes as a pair of surrogates.
func forParser(text []byte) []byte {
	if at := versionDirective.FindIndex(text); at != nil {
		text = bytes.Clone(text)
		// The match ends with the digit and one space.
		text[at[1]-2] = '1'
	}
	// Outside of JSON a backslash may be text, so only JSON is rewritten.
	if !bytes.Contains(bytes.ToLower(text), []byte(`\ud`)) || !json.Valid(text) {
		return text
	}
	return jsonEscape.ReplaceAllFunc(text, func(escape []byte) []byte {
		var pair string
		if len(escape) == len(`\n`) || json.Unmarshal([]byte(`"`+string(escape)+`"`), &pair) != nil {
			return escape
		}
		return []byte(pair)
	})
}
