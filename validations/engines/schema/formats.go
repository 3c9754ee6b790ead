package schema

import (
	"errors"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ownFormats replace those of the library that take texts which their standards refuse, such as the time +1:00:00Z, or
// refuse what they have, such as the template {?query}.
func ownFormats() []*jsonschema.Format {
	formats := make([]*jsonschema.Format, 0, 11)
	for name, valid := range map[string]func(string) bool{
		"date-time":     isDateTime,
		"duration":      durationForm.MatchString,
		"email":         isEmail,
		"hostname":      isHostname,
		"ipv4":          isIPv4,
		"iri":           func(text string) bool { return iriForms().isAbsolute(text) },
		"iri-reference": func(text string) bool { return iriForms().isReference(text) },
		"time":          isTime,
		"uri":           func(text string) bool { return uriForms().isAbsolute(text) },
		"uri-reference": func(text string) bool { return uriForms().isReference(text) },
		"uri-template":  templateForm.MatchString,
	} {
		formats = append(formats, &jsonschema.Format{Name: name, Validate: func(v any) error {
			if text, ok := v.(string); ok && !valid(text) {
				return errNotOfFormat
			}
			return nil
		}})
	}
	return formats
}

var errNotOfFormat = errors.New("not of the format")

// The grammars of RFC 3339 (times, and durations of its appendix A), RFC 1123, RFC 5321 and RFC 6570.
var (
	timeForm = regexp.MustCompile(
		`^([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.[0-9]+)?(?:[zZ]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$`)
	durationForm = regexp.MustCompile(
		`^P(?:[0-9]+W|` + dateUnits + `(?:T` + timeUnits + `)?|T` + timeUnits + `)$`)
	hostnameForm = regexp.MustCompile(`^` + hostLabel + `(?:\.` + hostLabel + `)*$`)
	localForm    = regexp.MustCompile(`^(?:` + localAtom + `(?:\.` + localAtom + `)*|"` + localQuoted + `*")$`)
	templateForm = regexp.MustCompile(
		"^(?:[^\\x00- \"%<>\\\\^`{|}\\x7f]|%[0-9A-Fa-f]{2}|" +
			`\{[+#./;?&]?` + templateVariable + `(?:,` + templateVariable + `)*\})*$`)
)

const (
	dateUnits = `(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)`
	timeUnits = `(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)`
	hostLabel = `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
	localAtom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"

	localQuoted = `(?:[^\x00-\x1f"\\\x7f-\x{10ffff}]|\\[^\x00-\x1f\x7f-\x{10ffff}])`

	templateCharacter = `(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})`
	templateVariable  = templateCharacter + `(?:\.?` + templateCharacter + `)*(?:\*|:[1-9][0-9]{0,3})?`
)

func isDateTime(text string) bool {
	const date = len(time.DateOnly)
	if len(text) <= date || text[date] != 'T' && text[date] != 't' {
		return false
	}
	_, err := time.Parse(time.DateOnly, text[:date])
	return err == nil && isTime(text[date+1:])
}

// isTime reports whether a text is a time with a zone. The second 60 is the last one of a day in UTC.
func isTime(text string) bool {
	parts := timeForm.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	if parts[3] != "60" {
		return true
	}
	minute, ahead := minutes(parts[1], parts[2]), minutes(parts[5], parts[6])
	if parts[4] == "-" {
		ahead = -ahead
	}
	const day = 24 * 60
	return (minute-ahead+day)%day == day-1
}

// minutes counts the minutes of two pairs of digits. Pairs that a time lacks are empty and count as 0.
func minutes(hour, minute string) int {
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	return h*60 + m
}

// isHostname reports whether a text is a name of a host. It does not decode labels that begin with xn--.
func isHostname(text string) bool {
	const longest = 253
	return len(text) <= longest && hostnameForm.MatchString(text)
}

func isEmail(text string) bool {
	const longest, longestLocal = 254, 64
	at := strings.LastIndexByte(text, '@')
	if at < 0 || at > longestLocal || len(text) > longest || !localForm.MatchString(text[:at]) {
		return false
	}
	domain := text[at+1:]
	address, ok := strings.CutPrefix(domain, "[")
	if !ok {
		return isHostname(domain)
	}
	address, ok = strings.CutSuffix(address, "]")
	if !ok {
		return false
	}
	if six, ok := strings.CutPrefix(address, "IPv6:"); ok {
		return isIPv6(six)
	}
	return isIPv4(address)
}

func isIPv4(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is4()
}

func isIPv6(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is6() && address.Zone() == ""
}
