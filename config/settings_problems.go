package config

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// unreadable says which variables have a value of the wrong kind.
func unreadable(err error, variables map[string]string) []string {
	if err == nil {
		return nil
	}
	all, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return []string{err.Error()}
	}
	problems := make([]string, len(all.Errors))
	for i, one := range all.Errors {
		problems[i] = one.Error()
		if wrong, ok := errors.AsType[env.ParseError](one); ok {
			name := variableOf(wrong.Name)
			problems[i] = fmt.Sprintf("%s is %q, but must be %s", name, variables[name], kindOf(wrong.Type))
		}
	}
	return problems
}

func unknownVariables(variables map[string]string) []string {
	known := make(map[string]bool)
	for _, setting := range describe(Settings{}) {
		known[setting.name] = true
	}
	for _, name := range secretSettings() {
		known[name+fileSuffix] = true
	}
	for field := range reflect.TypeFor[Settings]().Fields() {
		known[field.Tag.Get("internal")] = internals != ""
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		isClients := name == "SV_URL" || name == "SV_TOKEN"
		if strings.HasPrefix(name, "SV_") && !known[name] && !isClients {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// kindOf says what a variable of the type has to look like.
func kindOf(kind reflect.Type) string {
	switch kind {
	case reflect.TypeFor[time.Duration]():
		return "a time like 500ms, 30s or 24h"
	case reflect.TypeFor[[]netip.Prefix]():
		return "networks like 10.20.0.0/16, or 10.20.0.5/32 for a single address, separated by commas"
	case reflect.TypeFor[bool]():
		return "true or false"
	case reflect.TypeFor[float64]():
		return "a number like 100 or 0.5"
	default:
		return "a whole number without a unit"
	}
}

// inSettings says which rule a setting breaks. A rule that names another member means the variable of that.
func inSettings(field api.FieldError) string {
	if other, ok := strings.CutPrefix(field.Detail, core.NeededWith); ok {
		return core.NeededWith + variableOf(other)
	}
	return field.Detail
}

// variableOf returns the variable of a member of Settings.
func variableOf(member string) string {
	field, _ := reflect.TypeFor[Settings]().FieldByName(member)
	return field.Tag.Get("env")
}
