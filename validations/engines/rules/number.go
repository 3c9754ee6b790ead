package rules

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// exact is a number without rounding, in a form in which equal numbers are equal: 0.digits times ten to the exponent,
// where the digits neither start nor end with zero.
type exact struct {
	// sign is -1, 0 or 1.
	sign     int
	digits   string
	exponent int
}

// newExact reads a number of JSON or XML. Its exponent was looked at before.
func newExact(literal string) exact {
	mantissa, exponent := literal, 0
	if at := strings.IndexAny(literal, "eE"); at >= 0 {
		mantissa = literal[:at]
		exponent, _ = strconv.Atoi(literal[at+1:]) // the grammar leaves nothing else there
	}
	mantissa, negative := strings.CutPrefix(strings.TrimPrefix(mantissa, "+"), "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent += len(digits) - len(fraction)
	digits = strings.TrimRight(digits, "0")
	switch {
	case digits == "":
		return exact{}
	case negative:
		return exact{-1, digits, exponent}
	default:
		return exact{1, digits, exponent}
	}
}

func (d exact) compare(other exact) int {
	return cmp.Or(cmp.Compare(d.sign, other.sign),
		d.sign*cmp.Compare(d.exponent, other.exponent), d.sign*cmp.Compare(d.digits, other.digits))
}

func (d exact) whole() bool {
	return d.exponent >= len(d.digits)
}

// text is a literal of the number, with a digit behind the point in any case.
func (d exact) text() string {
	sign := ""
	if d.sign < 0 {
		sign = "-"
	}
	return sign + "0." + d.digits + "0e" + strconv.Itoa(d.exponent)
}

func (d exact) float() float64 {
	number, _ := strconv.ParseFloat(d.text(), 64) // numbers out of range were refused before
	return number
}

// canonical is the same for equal values: numbers by what they are worth, objects whatever the order of their members.
func canonical(value any) string {
	switch v := value.(type) {
	case string:
		// Nothing else begins so.
		return `"` + v
	case json.Number:
		return newExact(v.String()).text()
	default:
		text, _ := jsonv2.Marshal(value, jsonv2.Deterministic(true), exactly) // A document can be written.
		return string(text)
	}
}

// exactly writes numbers by what they are worth.
//
//nolint:gochecknoglobals // It is constant.
var exactly = jsonv2.WithMarshalers(jsonv2.MarshalToFunc(func(to *jsontext.Encoder, number json.Number) error {
	return to.WriteValue(jsontext.Value(newExact(number.String()).text()))
}))

// instant is a date-time, or a date, which stands for its first moment in UTC.
type instant struct {
	time time.Time
	date bool
}

func parseInstant(text string) (instant, bool) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return instant{day, true}, true
	}
	moment, err := engine.ParseDateTime(text)
	return instant{time: moment}, err == nil
}

// end is the last moment that belongs to the instant.
func (i instant) end() time.Time {
	if i.date {
		return i.time.AddDate(0, 0, 1).Add(-time.Nanosecond)
	}
	return i.time
}
