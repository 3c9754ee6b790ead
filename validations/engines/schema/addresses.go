package schema

import (
	"regexp"
	"sync"
)

// addressForms are the grammars of addresses with and without a scheme. Their groups are IP addresses in brackets.
type addressForms struct{ absolute, relative *regexp.Regexp }

var addressFuture = regexp.MustCompile(`^[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+$`)

// uriForms are those of RFC 3986, and iriForms those of RFC 3987, which has letters beyond ASCII.
//
//nolint:gochecknoglobals // They are constants that take a while to make.
var (
	uriForms = sync.OnceValue(func() addressForms { return newAddressForms("", "") })
	iriForms = sync.OnceValue(func() addressForms { return newAddressForms(iriLetters, iriPrivate) })
)

// The letters of RFC 3987, and those for private use.
const (
	iriLetters = `\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}\x{10000}-\x{1FFFD}\x{20000}-\x{2FFFD}` +
		`\x{30000}-\x{3FFFD}\x{40000}-\x{4FFFD}\x{50000}-\x{5FFFD}\x{60000}-\x{6FFFD}\x{70000}-\x{7FFFD}` +
		`\x{80000}-\x{8FFFD}\x{90000}-\x{9FFFD}\x{A0000}-\x{AFFFD}\x{B0000}-\x{BFFFD}\x{C0000}-\x{CFFFD}` +
		`\x{D0000}-\x{DFFFD}\x{E1000}-\x{EFFFD}`
	iriPrivate = `\x{E000}-\x{F8FF}\x{F0000}-\x{FFFFD}\x{100000}-\x{10FFFD}`
)

// newAddressForms makes the forms with more letters everywhere, and with private ones in the query.
func newAddressForms(letters, private string) addressForms {
	of := func(more string) string {
		return `(?:[A-Za-z0-9._~!$&'()*+,;=` + letters + more + `-]|%[0-9A-Fa-f]{2})`
	}
	form := func(scheme, first string) *regexp.Regexp {
		authority := `//(?:` + of(":") + `*@)?(?:` + of("") + `*|\[([^\]@/]+)\])(?::\d*)?(?:/` + of(":@/") + `*)?`
		path := `(?:/(?:` + of(":@") + of(":@/") + `*)?|` + of(first) + `+(?:/` + of(":@/") + `*)?)?`
		return regexp.MustCompile(`^` + scheme + `(?:` + authority + `|` + path + `)(?:\?` + of(private+":@/?") +
			`*)?(?:#` + of(":@/?") + `*)?$`)
	}
	return addressForms{form(`[A-Za-z][A-Za-z0-9+.-]*:`, ":@"), form("", "@")}
}

func (f addressForms) isAbsolute(text string) bool { return isAddress(f.absolute, text) }

func (f addressForms) isReference(text string) bool {
	return f.isAbsolute(text) || isAddress(f.relative, text)
}

func isAddress(form *regexp.Regexp, text string) bool {
	found := form.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	return found[1] == "" || isIPv6(found[1]) || addressFuture.MatchString(found[1])
}
