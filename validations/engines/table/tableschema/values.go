package tableschema

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// errNotOfType says that a text is not a value of its column's type.
var errNotOfType = errors.New("not of the type")

// Patterns of years, UUIDs, and of what may stand around a number that is not bare.
var (
	yearPattern = regexp.MustCompile(`^-?(?:\d{4}|[1-9]\d{4,8})$`)
	uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	aroundPlain = regexp.MustCompile(`^[^0-9+\-.,]*(.*\d)\D*$`)
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
		f.grouped = regexp.MustCompile(`^[+-]?\d{1,3}(?:` + group + `\d{2,3})*` + group + `\d{3}(?:\D.*)?$`)
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
func parseJSON(text string, kind Type) (string, error) {
	opening := map[Type]jsontext.Kind{TypeObject: jsontext.KindBeginObject, TypeArray: jsontext.KindBeginArray}
	value := jsontext.Value(text)
	if value.Kind() != opening[kind] {
		return "", errNotOfType
	}
	if err := value.Canonicalize(); err != nil {
		return "", errNotOfType
	}
	return string(value), nil
}

// parseGeopoint reads a longitude and a latitude in degrees: "lon, lat", a list, or an object with lon and lat.
func parseGeopoint(text, format string) (string, error) {
	lon, lat := splitGeopoint(text, format)
	const maxLongitude, maxLatitude = 180, 90
	east, err := parseNumber(strings.TrimSpace(lon))
	north, alsoErr := parseNumber(strings.TrimSpace(lat))
	if err != nil || alsoErr != nil || math.Abs(east) > maxLongitude || math.Abs(north) > maxLatitude {
		return "", errNotOfType
	}
	return fmt.Sprintf("%v,%v", east, north), nil
}

// splitGeopoint returns texts that are no numbers where a text is not of the form.
func splitGeopoint(text, format string) (string, string) {
	switch format {
	case "array":
		var pair []json.Number
		if err := json.Unmarshal([]byte(text), &pair); err != nil || len(pair) != 2 {
			return "", ""
		}
		return pair[0].String(), pair[1].String()
	case "object":
		var point struct {
			Lon json.Number `json:"lon"`
			Lat json.Number `json:"lat"`
		}
		if err := json.Unmarshal([]byte(text), &point); err != nil {
			return "", ""
		}
		return point.Lon.String(), point.Lat.String()
	default:
		lon, lat, _ := strings.Cut(text, ",")
		return lon, lat
	}
}

// parseNumber accepts decimal numbers; Go would also take hexadecimal ones, underscores, infinities and NaN.
func parseNumber(text string) (float64, error) {
	if strings.Trim(text, "0123456789+-.eE") != "" || !engine.NumberInRange(text) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}

// exact is a number with all its digits. Its text was read by parseNumber before.
func exact(text string) *big.Rat {
	number, _ := new(big.Rat).SetString(text)
	return number
}

// unrounded tells a number from the others that are the same double: it is empty for the one by which the double is
// written.
func unrounded(value Cell) string {
	const safe = 15 // Doubles keep so many digits apart.
	text := value.canonical
	if len(text) <= safe && !strings.ContainsAny(text, "eE") {
		return ""
	}
	if shortest := strconv.FormatFloat(value.Number, 'f', -1, 64); text == shortest ||
		exact(text).Cmp(exact(shortest)) == 0 {
		return ""
	}
	return exact(text).RatString()
}

// The texts of booleans where the schema has none.
var (
	defaultTrue  = []string{"true", "True", "TRUE", "1"}
	defaultFalse = []string{"false", "False", "FALSE", "0"}
)

func (c *Column) parseTruth(text string) (bool, error) {
	switch {
	case slices.Contains(c.trueValues, text):
		return true, nil
	case slices.Contains(c.falseValues, text):
		return false, nil
	default:
		return false, errNotOfType
	}
}
