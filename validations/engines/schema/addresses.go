package schema

import (
	"regexp"
	"strings"
)

// Whether an address may lack its scheme.
const (
	absolute = false
	relative = true
)

// addressParts are the forms of the parts of an address.
type addressParts struct {
	user, host, path, query, fragment *regexp.Regexp
}

var (
	addressScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
	addressPort   = regexp.MustCompile(`^\d*$`)
	addressFuture = regexp.MustCompile(`^[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+$`)
)

// uriParts are the parts of RFC 3986.
func uriParts() addressParts { return newAddressParts("", "") }

// iriParts are the parts of RFC 3987, which has letters beyond ASCII.
func iriParts() addressParts {
	return newAddressParts(
		`\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}\x{10000}-\x{1FFFD}\x{20000}-\x{2FFFD}\x{30000}-\x{3FFFD}`+
			`\x{40000}-\x{4FFFD}\x{50000}-\x{5FFFD}\x{60000}-\x{6FFFD}\x{70000}-\x{7FFFD}\x{80000}-\x{8FFFD}`+
			`\x{90000}-\x{9FFFD}\x{A0000}-\x{AFFFD}\x{B0000}-\x{BFFFD}\x{C0000}-\x{CFFFD}\x{D0000}-\x{DFFFD}`+
			`\x{E1000}-\x{EFFFD}`,
		`\x{E000}-\x{F8FF}\x{F0000}-\x{FFFFD}\x{100000}-\x{10FFFD}`)
}

// newAddressParts makes the forms with more letters everywhere, and with private ones in the query.
func newAddressParts(letters, private string) addressParts {
	of := func(more string) *regexp.Regexp {
		return regexp.MustCompile(`^(?:[A-Za-z0-9._~!$&'()*+,;=` + more + `-]|%[0-9A-Fa-f]{2})*$`)
	}
	return addressParts{
		user: of(letters + `:`), host: of(letters), path: of(letters + `:@/`), query: of(letters + private + `:@/?`),
		fragment: of(letters + `:@/?`),
	}
}

// isReference splits a text as appendix B of RFC 3986 does and checks its parts.
func (p addressParts) isReference(text string, mayBeRelative bool) bool {
	rest, fragment, _ := strings.Cut(text, "#")
	rest, query, _ := strings.Cut(rest, "?")
	if !p.fragment.MatchString(fragment) || !p.query.MatchString(query) {
		return false
	}
	if end := strings.IndexAny(rest, ":/"); end >= 0 && rest[end] == ':' {
		if !addressScheme.MatchString(rest[:end]) {
			return false
		}
		rest = rest[end+1:]
	} else if !mayBeRelative {
		return false
	}
	if behind, ok := strings.CutPrefix(rest, "//"); ok {
		authority, path, _ := strings.Cut(behind, "/")
		return p.isAuthority(authority) && p.path.MatchString(path)
	}
	return p.path.MatchString(rest)
}

func (p addressParts) isAuthority(text string) bool {
	user, host, ok := strings.Cut(text, "@")
	if !ok {
		user, host = "", text
	}
	if !p.user.MatchString(user) {
		return false
	}
	if literal, ok := strings.CutPrefix(host, "["); ok {
		address, port, ok := strings.Cut(literal, "]")
		port, colon := strings.CutPrefix(port, ":")
		return ok && (colon || port == "") && addressPort.MatchString(port) &&
			(isIPv6(address) || addressFuture.MatchString(address))
	}
	name, port, _ := strings.Cut(host, ":")
	return p.host.MatchString(name) && addressPort.MatchString(port)
}
