package model

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed" // for the tables
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// tables has all dictionaries in the form that its tests write: compressed, a line with the versions, then a line for
// each different description of a class. Such a line is a bit set of the versions that it holds for, a tab and the
// class as JSON.
//
//go:embed tables.gz
var tables string

const (
	longestLine = 1 << 20
	// commonClasses is about as many as a version has.
	commonClasses = 1000
)

// Versions are the versions of EnergyPlus whose dictionaries are known, oldest first.
func Versions() []string {
	return []string{
		"8.9", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5", "9.6",
		"22.1", "22.2", "23.1", "23.2", "24.1", "24.2", "25.1", "25.2", "26.1",
	}
}

// LoadDictionary reads the dictionary of one of the Versions. It takes milliseconds, so keep the result. That the
// tables can be read is shown by tests, which read all of them.
func LoadDictionary(version string) *Dictionary {
	bit := slices.Index(Versions(), version)
	plain, _ := gzip.NewReader(strings.NewReader(tables))
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, longestLine)
	lines.Scan() // The versions are those above; a test compares them.
	classes := make([]*Class, 0, commonClasses)
	for lines.Scan() {
		mask, description, _ := bytes.Cut(lines.Bytes(), []byte("\t"))
		if set, _ := strconv.ParseUint(string(mask), 16, 64); set&(1<<bit) == 0 {
			continue
		}
		class := &Class{}
		_ = jsonv2.Unmarshal(description, class)
		classes = append(classes, class)
	}
	return NewDictionary(version, classes)
}
