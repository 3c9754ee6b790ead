package idempotency

import (
	"net/http"
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

const (
	// Header is the request header that carries the key.
	Header = "Idempotency-Key"
	// MaxKeyLength is the most characters that a key may have, quotes and escapes not counted.
	MaxKeyLength = 255
)

// ParseKey reads the key of a request and reports whether one was given at all. A quoted key (an RFC 8941 string) and
// the same characters without quotes are one key, because clients and proxies quote as they like. White space around
// the value belongs to HTTP, all other white space to the key.
//
// The error is api.CodeKeyInvalid for more than one header, an empty key, characters other than those of ASCII from
// space to tilde, and a quoted string that is malformed or followed by something; it is api.CodeKeyTooLong for more
// than MaxKeyLength characters.
func ParseKey(h http.Header) (string, bool, error) {
	lines := h.Values(Header)
	switch len(lines) {
	case 0:
		return "", false, nil
	case 1:
	default:
		return "", true, keyError(api.CodeKeyInvalid, "Send one Idempotency-Key header; this request has several.")
	}
	key, err := decodeKey(strings.Trim(lines[0], " \t"))
	if err != nil {
		return "", true, err
	}
	if len(key) > MaxKeyLength {
		return "", true, keyError(api.CodeKeyTooLong, "Idempotency key exceeds maximum length of 255 characters.")
	}
	return key, true, nil
}

// decodeKey removes the quotes and escapes of a quoted key. Anything behind the string would be a list or a parameter,
// and dropping it could make one key of two.
func decodeKey(value string) (string, error) {
	key := value
	if strings.HasPrefix(value, `"`) {
		key = unescaping.Replace(strings.TrimSuffix(value[1:], `"`))
		// What is no string of RFC 8941 does not come back as it was.
		if `"`+escaping.Replace(key)+`"` != value || strings.ContainsFunc(key, isForeign) {
			return "", keyError(api.CodeKeyInvalid, "An idempotency key that begins with a quotation mark must be a "+
				"quoted string as in RFC 8941, with nothing behind it.")
		}
	}
	if key == "" {
		return "", keyError(api.CodeKeyInvalid, "The idempotency key is empty. Send 1 to 255 characters or no header.")
	}
	if strings.ContainsFunc(key, isForeign) {
		return "", keyError(api.CodeKeyInvalid, "An idempotency key consists of ASCII characters from space to tilde.")
	}
	return key, nil
}

var (
	escaping   = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	unescaping = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
)

// isForeign reports whether an RFC 8941 string cannot have the character. A constraint on the column requires the same.
func isForeign(r rune) bool { return r < ' ' || r > '~' }

func keyError(code api.Code, detail string) error {
	err := core.NewError(code, detail)
	err.Fields = []api.FieldError{{Parameter: Header, Code: "invalid", Detail: detail}}
	return err
}
