package schema

import (
	"errors"
	"net/url"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// addressFormats are the formats of addresses. Those of the library let spaces pass.
func addressFormats() []*jsonschema.Format {
	var formats []*jsonschema.Format
	for _, f := range []struct {
		name                 string
		relative, allLetters bool
	}{{"uri", false, false}, {"uri-reference", true, false}, {"iri", false, true}, {"iri-reference", true, true}} {
		formats = append(formats, &jsonschema.Format{Name: f.name, Validate: func(v any) error {
			text, ok := v.(string)
			if !ok {
				return nil
			}
			return checkAddress(text, f.relative, f.allLetters)
		}})
	}
	return formats
}

var errNoAddress = errors.New("not an address")

// checkAddress checks a text as RFC 3986 has addresses, and as RFC 3987 does where it may have all letters.
func checkAddress(text string, relative, allLetters bool) error {
	parsed, err := url.Parse(text)
	if err != nil || !relative && !parsed.IsAbs() {
		return errNoAddress
	}
	for i, c := range text {
		switch {
		case c <= ' ', c == 0x7f, strings.ContainsRune("\"<>\\^`{|}", c), c > unicode.MaxASCII && !allLetters:
			return errNoAddress
		case c == '%' && !isEscaped(text[i:]):
			return errNoAddress
		}
	}
	return nil
}

// isEscaped reports whether a text begins with a character that is written as two digits behind a %.
func isEscaped(text string) bool {
	const length = len("%20")
	if len(text) < length {
		return false
	}
	_, err := url.PathUnescape(text[:length])
	return err == nil
}
