package energyplus

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/dictionary"
)

// modelVersion is a version as a model states it; its group is what decides.
var modelVersion = regexp.MustCompile(`^(\d{1,3}\.\d{1,3})(?:\.[0-9.]*)?$`)

const (
	versionKey   = "version"
	versionField = "version_identifier"
)

// readVersion describes the model by the dictionary of its version. It says whether there is one. EnergyPlus simulates
// a model that states no version, so the latest one allowed is taken for it.
func (r *modelRun) readVersion() (bool, error) {
	version, stated := r.model.statedVersion()
	latest := latestOf(r.engine.versions)
	if stated {
		r.version = version
	} else {
		version = latest
	}
	load, known := r.engine.dictionaries[version]
	if !known {
		load = r.engine.dictionaries[latest]
	}
	d, err := load()
	if err != nil {
		return false, fmt.Errorf("check model: %w", err)
	}
	r.model.describe(d)
	found := modelFinding{check: checkVersion, code: "version_unsupported"}
	for _, o := range r.model.objects {
		if o.key == versionKey && found.object == nil {
			found.object, found.field = o, o.field(versionField)
		}
	}
	allowed := slices.Contains(r.engine.versions, version)
	switch {
	case !stated:
		found.check, found.code = checkVersionMissing, "version_missing"
		found.message = "the model does not say which version of EnergyPlus it is for; it is checked as one of " + latest
	case version == "":
		found.check, found.message = "", "this is no version of EnergyPlus, such as 23.2"
	case !known:
		found.check = ""
		found.message = fmt.Sprintf("the version %s is not one of %s", version, strings.Join(r.engine.versions, ", "))
		if allowed {
			found.message = fmt.Sprintf("models of the version %s cannot be checked, only those of %s",
				version, strings.Join(dictionary.Versions(), ", "))
		}
	case !allowed:
		found.message = fmt.Sprintf("the version %s is not one of %s", version, strings.Join(r.engine.versions, ", "))
	}
	if found.message != "" {
		r.find(found)
	}
	if known {
		r.dictionary = d
	}
	return known, nil
}

// statedVersion is the version that the model says it is for, as "23.2", and whether it says any. What is no version is
// empty.
func (m *model) statedVersion() (string, bool) {
	text := ""
	for _, o := range m.written {
		if foldName(o.class.text) == versionKey && len(o.fields) > 0 && text == "" {
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

func (m *model) memberOfVersion() string {
	classes, _ := m.source.Value.(map[string]any)
	for class, value := range classes {
		objects, _ := value.(map[string]any)
		if foldName(class) != versionKey {
			continue
		}
		for _, object := range objects {
			members, _ := object.(map[string]any)
			switch value := members[versionField].(type) {
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

// latestOf returns the latest of these versions that has a dictionary, or else the latest that has one.
func latestOf(versions []string) string {
	known := dictionary.Versions()
	latest := known[len(known)-1]
	for _, version := range known {
		if slices.Contains(versions, version) {
			latest = version
		}
	}
	return latest
}
