package expression

import (
	"regexp"
	"strconv"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// timeParts are the functions that read a part of a time.
var timeParts = []string{
	overloads.TimeGetFullYear, overloads.TimeGetMonth, overloads.TimeGetDayOfYear, overloads.TimeGetDate,
	overloads.TimeGetDayOfMonth, overloads.TimeGetDayOfWeek, overloads.TimeGetHours, overloads.TimeGetMinutes,
	overloads.TimeGetSeconds, overloads.TimeGetMilliseconds,
}

// timeFunctions let texts stand for times: documents have no others.
func timeFunctions() []cel.EnvOption {
	options := []cel.EnvOption{
		cel.Function("timestamp", cel.Overload(overloads.StringToTimestamp, []*cel.Type{cel.StringType},
			cel.TimestampType, cel.UnaryBinding(momentOf))),
		cel.Function("duration", cel.Overload(overloads.StringToDuration, []*cel.Type{cel.StringType},
			cel.DurationType, cel.UnaryBinding(spanOf))),
	}
	for _, name := range timeParts {
		options = append(options, cel.Function(name,
			cel.MemberOverload("string_"+name, []*cel.Type{cel.StringType}, cel.IntType,
				cel.UnaryBinding(func(text ref.Val) ref.Val { return partOf(name, text) })),
			cel.MemberOverload("string_"+name+"_with_tz", []*cel.Type{cel.StringType, cel.StringType}, cel.IntType,
				cel.BinaryBinding(func(text, zone ref.Val) ref.Val { return partOf(name, text, zone) })),
		))
	}
	return options
}

// days are those of a duration, which CEL counts in hours at most, and its weeks.
var days = regexp.MustCompile(`[\d.]+[dw]`)

func spanOf(value ref.Val) ref.Val {
	text := days.ReplaceAllStringFunc(textOf(value), func(days string) string {
		hours := map[byte]float64{'d': 24, 'w': 7 * 24}[days[len(days)-1]]
		number, err := strconv.ParseFloat(days[:len(days)-1], 64)
		if err != nil {
			return days
		}
		return strconv.FormatFloat(hours*number, 'f', -1, 64) + "h"
	})
	span, err := time.ParseDuration(text)
	if err != nil {
		return types.NewErr("%s is not a duration such as 90m, 1h30m or 30d", engine.Quote(textOf(value)))
	}
	return types.Duration{Duration: span}
}

func partOf(name string, text ref.Val, zone ...ref.Val) ref.Val {
	moment, ok := momentOf(text).(types.Timestamp)
	if !ok {
		return momentOf(text)
	}
	return moment.Receive(name, "", zone)
}

// momentOf reads a text as a time. A date is its first moment, and what names no time zone is in UTC.
func momentOf(value ref.Val) ref.Val {
	moment, err := parseMoment(textOf(value))
	if err != nil {
		return types.NewErr(
			"%s is neither a date nor a date-time such as 2026-03-01T06:00:00Z", engine.Quote(textOf(value)))
	}
	return types.Timestamp{Time: moment.UTC()}
}

func parseMoment(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	// A space is how SQL and many meters write the T.
	const day = len(time.DateOnly)
	if len(text) > day && text[day] == ' ' {
		text = text[:day] + "T" + text[day+1:]
	}
	if moment, err := engine.ParseDateTime(text); err == nil {
		return moment, nil
	}
	return engine.ParseDateTime(text + "Z")
}
