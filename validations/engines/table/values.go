package table

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// errNotOfType says that a text is no value of its column's type.
var errNotOfType = errors.New("not of the type")

// Patterns of years, UUIDs, and of what may stand around a number that is not bare.
var (
	yearPattern = regexp.MustCompile(`^-?[0-9]{4,9}$`)
	uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	aroundPlain = regexp.MustCompile(`^[^0-9+\-.,]*(.*[0-9])[^0-9]*$`)
)

// stringFormats are the formats of strings in Table Schema beside the default.
var stringFormats = map[string]func(text string) bool{
	"email": func(text string) bool {
		address, err := mail.ParseAddress(text)
		return err == nil && address.Address == text
	},
	"uri": func(text string) bool {
		parsed, err := url.Parse(text)
		return err == nil && parsed.IsAbs() && !strings.Contains(text, " ")
	},
	"uuid":   uuidPattern.MatchString,
	"binary": func(text string) bool { _, err := base64.StdEncoding.DecodeString(text); return err == nil },
}

// numberFormat is how numbers are written that a computer would write otherwise.
type numberFormat struct {
	decimalChar string
	groupChar   string
	bare        bool
	// grouped matches numbers with a group character: groups of three, as in 1,000,000, or two, as in 1,00,000.
	grouped *regexp.Regexp
}

func newNumberFormat(decimalChar, groupChar string, bare bool) *numberFormat {
	f := &numberFormat{decimalChar: decimalChar, groupChar: groupChar, bare: bare}
	if groupChar != "" {
		group := regexp.QuoteMeta(groupChar)
		f.grouped = regexp.MustCompile(`^[+-]?[0-9]{1,3}(?:` + group + `[0-9]{2,3})*` + group + `[0-9]{3}(?:[^0-9].*)?$`)
	}
	return f
}

// plain writes a number with a point and without groups. It answers false for groups where none can be.
func (f *numberFormat) plain(text string) (string, bool) {
	if !f.bare {
		if found := aroundPlain.FindStringSubmatch(text); found != nil {
			text = found[1]
		}
	}
	whole, fraction, hasFraction := strings.Cut(text, f.decimalChar)
	if f.groupChar != "" && strings.Contains(whole, f.groupChar) {
		if !f.grouped.MatchString(whole) {
			return "", false
		}
		whole = strings.ReplaceAll(whole, f.groupChar, "")
	}
	if strings.Contains(whole, ".") || strings.Contains(fraction, ".") {
		return "", false
	}
	if hasFraction {
		whole += "." + fraction
	}
	return whole, true
}

// parseJSON reads an object or a list and returns it in the canonical form of RFC 8785.
func parseJSON(text string, kind jsontext.Kind) (string, error) {
	value := jsontext.Value(text)
	if value.Kind() != kind {
		return "", errNotOfType
	}
	value = slices.Clone(value)
	if err := value.Canonicalize(); err != nil {
		return "", errNotOfType
	}
	return string(value), nil
}

// parseGeopoint reads a longitude and a latitude in degrees: as "lon, lat", as a list, or as an object with lon and lat.
func parseGeopoint(text, format string) (string, error) {
	var lon, lat string
	switch format {
	case "array":
		var pair []json.Number
		if err := json.Unmarshal([]byte(text), &pair); err != nil || len(pair) != 2 {
			return "", errNotOfType
		}
		lon, lat = pair[0].String(), pair[1].String()
	case "object":
		var point struct{ Lon, Lat json.Number }
		if err := json.Unmarshal([]byte(text), &point); err != nil {
			return "", errNotOfType
		}
		lon, lat = point.Lon.String(), point.Lat.String()
	default:
		lon, lat, _ = strings.Cut(text, ",")
	}
	east, err := parseNumber(strings.TrimSpace(lon))
	if err != nil || east < -180 || east > 180 {
		return "", errNotOfType
	}
	north, err := parseNumber(strings.TrimSpace(lat))
	if err != nil || north < -90 || north > 90 {
		return "", errNotOfType
	}
	return fmt.Sprintf("%v,%v", east, north), nil
}

// parseNumber accepts decimal numbers; Go would also take hexadecimal ones, underscores, infinities and NaN.
func parseNumber(text string) (float64, error) {
	if strings.Trim(text, "0123456789+-.eE") != "" || !engine.NumberInRange(text) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}

// The texts of booleans where the schema has none.
var (
	defaultTrue  = []string{"true", "True", "TRUE", "1"}
	defaultFalse = []string{"false", "False", "FALSE", "0"}
)

func (c *column) parseTruth(text string) (bool, error) {
	switch {
	case slices.Contains(c.trueValues, text):
		return true, nil
	case slices.Contains(c.falseValues, text):
		return false, nil
	default:
		return false, errNotOfType
	}
}
