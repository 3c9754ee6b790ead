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
	if known {
		r.dictionary = d
	}
	r.judgeVersion(version, latest, stated)
	return known, nil
}

// judgeVersion reports a version that is missing, invalid or not allowed. It is always an error if the model cannot be
// checked.
func (r *modelRun) judgeVersion(version, latest string, stated bool) {
	found := modelFinding{check: checkVersion, code: "version_unsupported"}
	if r.dictionary == nil {
		found.check = ""
	}
	at := slices.IndexFunc(r.model.objects, func(o *modelObject) bool { return o.key == versionKey })
	if at >= 0 {
		found.object = r.model.objects[at]
		found.field = found.object.field(versionField)
	}
	allowed := slices.Contains(r.engine.versions, version)
	switch {
	case !stated:
		found.check, found.code = checkVersionMissing, "version_missing"
		found.message = "the model does not state its version of EnergyPlus; it is checked as version " + latest
	case version == "":
		found.message = "this is not a version of EnergyPlus, such as 23.2"
	case !allowed:
		found.message = fmt.Sprintf("the version %s is not one of %s", version, strings.Join(r.engine.versions, ", "))
	case r.dictionary == nil:
		found.message = fmt.Sprintf("models of the version %s cannot be checked, only those of %s",
			version, strings.Join(dictionary.Versions(), ", "))
	default:
		return
	}
	r.find(found)
}

// statedVersion returns the version that the model names, such as "23.2", and whether it names one. An invalid version
// is empty.
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
