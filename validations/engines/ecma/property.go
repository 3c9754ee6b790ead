package ecma

import (
	"strings"
	"unicode"
)

// propertyTables are the characters of a property, as \p{...} names it; false where it is not known here. That takes in
// properties of code points that are not assigned, because the tables of the standard library leave these out.
func propertyTables(written string) ([]*unicode.RangeTable, bool) {
	name, value, valued := strings.Cut(written, "=")
	if valued {
		switch name {
		case "General_Category", "gc":
			return categoryTable(value)
		case "Script", "sc":
			table, known := unicode.Scripts[value]
			return []*unicode.RangeTable{table}, known
		default:
			return nil, false
		}
	}
	if tables, known := categoryTable(name); known {
		return tables, true
	}
	return binaryTables(name)
}

func categoryTable(name string) ([]*unicode.RangeTable, bool) {
	if short, known := unicode.CategoryAliases[name]; known {
		name = short
	}
	table, known := unicode.Categories[name]
	return []*unicode.RangeTable{table}, known && name != "C" && name != "Cn"
}

// binaryTables knows the properties of ECMA-262 that the tables of the standard library have or give.
func binaryTables(name string) ([]*unicode.RangeTable, bool) {
	switch name {
	case "Any":
		return []*unicode.RangeTable{{R32: []unicode.Range32{{Lo: 0, Hi: unicode.MaxRune, Stride: 1}}}}, true
	case "ASCII":
		return []*unicode.RangeTable{{R16: []unicode.Range16{{Lo: 0, Hi: unicode.MaxASCII, Stride: 1}}}}, true
	case "Alphabetic", "Alpha":
		return []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_Alphabetic}, true
	case "Lowercase", "Lower":
		return []*unicode.RangeTable{unicode.Ll, unicode.Other_Lowercase}, true
	case "Uppercase", "Upper":
		return []*unicode.RangeTable{unicode.Lu, unicode.Other_Uppercase}, true
	case "space":
		name = "White_Space"
	}
	table, known := unicode.Properties[name]
	return []*unicode.RangeTable{table}, known && !strings.HasPrefix(name, "Other_")
}
