package config

import (
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
)

// Secret is a setting that may hold a password, which is never shown.
type Secret string

// String returns the setting without its password.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	address, err := url.Parse(string(s))
	if err != nil || address.Scheme == "" || address.Opaque != "" {
		return "(set)"
	}
	query := address.Query()
	for name := range query {
		if secretParameter(name) {
			query.Set(name, "xxxxx")
		}
	}
	address.RawQuery = query.Encode()
	return address.Redacted()
}

func secretParameter(name string) bool {
	return slices.ContainsFunc([]string{"password", "secret", "token", "key"}, func(word string) bool {
		return strings.Contains(strings.ToLower(name), word)
	})
}

// fileSuffix follows the name of a secret setting in the name of the variable that holds the path of its file.
const fileSuffix = "_FILE"

// secretSettings lists the settings that can be read from files.
func secretSettings() []string {
	var names []string
	for field := range reflect.TypeFor[Settings]().Fields() {
		if field.Type == reflect.TypeFor[Secret]() {
			names = append(names, field.Tag.Get("env"))
		}
	}
	return names
}

// readFiles sets each secret that is given as a file, without the end of its last line, and says which cannot be read.
// Other users of the machine can read the environment of a process more easily than a file.
func readFiles(variables map[string]string) []string {
	var problems []string
	for _, name := range secretSettings() {
		path := variables[name+fileSuffix]
		switch {
		case path == "":
			continue
		case variables[name] != "":
			problems = append(problems, name+" is set, and so is "+name+fileSuffix+"; set one of them")
			continue
		}
		text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s%s cannot be read: %v", name, fileSuffix, err))
			continue
		}
		if len(text) == 0 {
			problems = append(problems, name+fileSuffix+" is empty")
		}
		variables[name] = strings.TrimRight(string(text), "\r\n")
	}
	return problems
}
