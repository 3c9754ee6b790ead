package energyplus

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
)

// Config is the configuration of an energyplus step.
type Config struct {
	// Versions are the versions of EnergyPlus that models may be for, as "23.2".
	Versions []string `json:"versions,omitempty"`
	// Checks gives checks another severity than their own, or turns them off.
	Checks map[string]engine.Severity `json:"checks,omitempty"`
	// RequiredObjects lists classes of which a model needs an object. Of the classes of one entry any will do.
	RequiredObjects [][]string `json:"required_objects,omitempty"`
	// Rules are about the facts of a model.
	Rules []expression.RuleConfig `json:"rules,omitempty"`
}

// checkOff turns a check off.
const checkOff = "OFF"

// configuredVersion is a version as configurations write it.
var configuredVersion = regexp.MustCompile(`^\d{1,3}\.\d{1,3}$`)

// severities are those of the checks that are on.
func (c Config) severities() map[string]engine.Severity {
	severities := maps.Clone(model.Severities)
	maps.Copy(severities, c.Checks)
	maps.DeleteFunc(severities, func(_ string, severity engine.Severity) bool { return severity == checkOff })
	return severities
}

// check says what is wrong with a configuration beside its rules.
func (c Config) check() []engine.ConfigError {
	faults := []engine.ConfigError{}
	refuse := func(code, detail string, at ...string) {
		faults = append(faults, engine.NewConfigError(engine.Pointer(at...), code, detail))
	}
	for i, version := range c.Versions {
		if !configuredVersion.MatchString(version) {
			refuse("versions.invalid", `write a version as in "23.2"`, "versions", strconv.Itoa(i))
		}
	}
	known := slices.Sorted(maps.Keys(model.Severities))
	for _, name := range slices.Sorted(maps.Keys(c.Checks)) {
		if !slices.Contains(known, name) {
			detail := "there is no such check; the checks are " + strings.Join(known, ", ")
			refuse("checks.unknown", detail, "checks", name)
		}
		if severity := c.Checks[name]; severity != checkOff && !severity.Known() {
			refuse("checks.severity", "use ERROR, WARNING, INFO or OFF", "checks", name)
		}
	}
	for i, alternatives := range c.RequiredObjects {
		if len(alternatives) == 0 || slices.Contains(alternatives, "") {
			refuse("required_objects.invalid", "name at least one class", "required_objects", strconv.Itoa(i))
		}
	}
	return faults
}

// Describe says what a step demands of documents.
func Describe(c Config, _ engine.Limits) []engine.Requirement {
	versions := "the model is for a supported version of EnergyPlus"
	if len(c.Versions) > 0 {
		versions = "the model is for EnergyPlus " + strings.Join(c.Versions, ", ")
	}
	requirements := []engine.Requirement{{Words: versions}}
	for _, classes := range c.RequiredObjects {
		requirements = append(requirements, engine.Requirement{
			Subject: strings.Join(classes, " or "), Words: "the model has an object of this class",
		})
	}
	return append(requirements, engine.Each(c.Rules, expression.RuleConfig.Requirement)...)
}
