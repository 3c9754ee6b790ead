package model

import (
	"fmt"
	"regexp"
	"strings"
)

// modelVersion is a version as a model states it; its group is what decides.
var modelVersion = regexp.MustCompile(`^(\d{1,3}\.\d{1,3})(?:\.[0-9.]*)?$`)

// The class and the field of the version.
const (
	VersionKey   = "version"
	VersionField = "version_identifier"
)

// StatedVersion returns the version that the model names, such as "23.2", and whether it names one. An invalid version
// is empty.
func (m *Model) StatedVersion() (string, bool) {
	text := ""
	for _, o := range m.written {
		if Fold(o.class.text) == VersionKey && len(o.fields) > 0 && text == "" {
			text = o.fields[0].text
		}
	}
	if m.source != nil {
		text = m.memberOfVersion()
	}
	if match := modelVersion.FindStringSubmatch(text); match != nil {
		return match[1], true
	}
	return "", text != ""
}

func (m *Model) memberOfVersion() string {
	classes, _ := m.source.Value.(map[string]any)
	for class, value := range classes {
		objects, _ := value.(map[string]any)
		if Fold(class) != VersionKey {
			continue
		}
		for _, object := range objects {
			members, _ := object.(map[string]any)
			switch value := members[VersionField].(type) {
			case nil:
			case string:
				return strings.TrimSpace(value)
			default:
				return fmt.Sprint(value)
			}
		}
	}
	return ""
}
