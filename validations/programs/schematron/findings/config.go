package findings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
)

// Texts reads a configuration whose members are texts with these names. A member with another name, or that is no text,
// is a fault.
func Texts(config json.RawMessage, known ...string) (map[string]string, []port.Fault) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(config, &members); err != nil {
		return nil, Refuse("", "config.type", "the configuration must be an object")
	}
	texts := map[string]string{}
	var faults []port.Fault
	for _, name := range slices.Sorted(maps.Keys(members)) {
		pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(ClipTo(name, MaxPath))
		var text string
		switch {
		case !slices.Contains(known, name):
			fault := port.Fault{Pointer: pointer, Code: "config.unknown", Detail: "is not known here"}
			if fault.Meant = Nearest(name, known); fault.Meant != "" {
				fault.Detail += "; did you mean " + fault.Meant + "?"
			}
			faults = append(faults, fault)
		case json.Unmarshal(members[name], &text) != nil:
			faults = append(faults, port.Fault{Pointer: pointer, Code: "config.type", Detail: "must be a string"})
		}
		texts[name] = text
	}
	return texts, faults
}

// Refuse returns the one fault of a configuration that is read no further.
func Refuse(pointer, code, detail string) []port.Fault {
	return []port.Fault{{Pointer: pointer, Code: code, Detail: detail}}
}

// TextFault returns a fault in a line of the text that a JSON pointer leads to.
func TextFault(pointer, code string, line int, words string) port.Fault {
	detail := fmt.Sprintf("line %d: %s", line, words)
	return port.Fault{Pointer: pointer, Code: code, Detail: detail, Line: line, Words: words}
}

// BundleHint says how to put a file into a workflow whose name stands where its text belongs. It is empty for others.
func BundleHint(text string) string {
	const extension = 6
	dot := strings.LastIndexByte(text, '.')
	if dot < 0 || len(text)-dot > extension || strings.ContainsAny(text, " \n{<") {
		return ""
	}
	return "; to put the file " + Quote(text) + " here, run: simplevalidations workflows bundle"
}
