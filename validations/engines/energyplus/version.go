package energyplus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

// readVersion describes the model by the dictionary of its version. It says whether there is one. EnergyPlus simulates
// a model that states no version, so the latest one allowed is taken for it.
func (r *modelRun) readVersion() bool {
	version, stated := r.Model.StatedVersion()
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
	r.Model.Describe(load())
	r.judgeVersion(version, latest, stated, known)
	return known
}

// judgeVersion reports a version that is missing, invalid or not allowed. It is always an error if the model cannot be
// checked.
func (r *modelRun) judgeVersion(version, latest string, stated, known bool) {
	found := model.Finding{Check: model.CheckVersion, Code: "version_unsupported"}
	if !known {
		found.Check = ""
	}
	at := slices.IndexFunc(r.Model.Objects, func(o *model.Object) bool { return o.Key == model.VersionKey })
	if at >= 0 {
		found.Object = r.Model.Objects[at]
		found.Field = found.Object.Field(model.VersionField)
	}
	allowed := slices.Contains(r.engine.versions, version)
	switch {
	case !stated:
		found.Check, found.Code = model.CheckVersionMissing, "version_missing"
		found.Message = "the model does not state its version of EnergyPlus; it is checked as version " + latest
	case version == "":
		found.Message = "this is not a version of EnergyPlus, such as 23.2"
	case !known:
		found.Message = fmt.Sprintf("models of the version %s cannot be checked; ", version) + r.wayOut(version)
	case !allowed:
		found.Message = fmt.Sprintf("the version %s is not one of %s", version, strings.Join(r.engine.versions, ", "))
	default:
		return
	}
	r.Find(found)
}

// wayOut says which version comes nearest to one that cannot be checked.
func (r *modelRun) wayOut(version string) string {
	oldest, nearest := model.Versions()[0], latestOf(r.engine.versions)
	for _, one := range slices.Backward(model.Versions()) {
		if isOlder(version, nearest) && slices.Contains(r.engine.versions, one) {
			nearest = one
		}
	}
	if isOlder(version, oldest) {
		return "the program Transition of EnergyPlus updates them to " + nearest
	}
	return "the nearest version is " + nearest
}

// isOlder compares versions such as 9.6 and 22.1.
func isOlder(version, than string) bool {
	major, minor := versionNumbers(version)
	otherMajor, otherMinor := versionNumbers(than)
	return major < otherMajor || major == otherMajor && minor < otherMinor
}

// latestOf returns the latest of these versions that has a dictionary, or else the latest that has one.
func latestOf(versions []string) string {
	known := model.Versions()
	for _, version := range slices.Backward(known) {
		if slices.Contains(versions, version) {
			return version
		}
	}
	return known[len(known)-1]
}
