package engine

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// KnownEncodings names the encodings of tables and of XML for messages.
const KnownEncodings = "utf-8, utf-16, iso-8859-1 or windows-1252"

// BOM is the byte order mark that some programs write at the start of a text in UTF-8.
const BOM = "\xef\xbb\xbf"

// DecoderFor returns what turns a text of the named encoding into UTF-8.
func DecoderFor(name string) (func(io.Reader) io.Reader, bool) {
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8":
		return func(r io.Reader) io.Reader { return r }, true
	case "iso-8859-1", "latin1":
		return charmap.ISO8859_1.NewDecoder().Reader, true
	case "windows-1252", "cp1252":
		return charmap.Windows1252.NewDecoder().Reader, true
	case "utf-16", "utf16":
		return decodeUTF16, true
	default:
		return nil, false
	}
}

// decodeUTF16 reads UTF-16 in the order of bytes that its mark says. An invalid character becomes NUL, which every
// reader refuses: the library's U+FFFD would be taken for text.
func decodeUTF16(r io.Reader) io.Reader {
	replaced := runes.Map(func(char rune) rune {
		if char == utf8.RuneError {
			return 0
		}
		return char
	})
	decoder := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
	return transform.NewReader(r, transform.Chain(decoder, replaced))
}

// IsUTF16 reports whether a text begins with the byte order mark of UTF-16, which spreadsheets and Windows write.
func IsUTF16(text []byte) bool {
	return bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff})
}

// TrimBOM cuts the byte order mark of UTF-8 off.
func TrimBOM(content []byte) []byte {
	return bytes.TrimPrefix(content, []byte(BOM))
}

// BadTextAt returns the offset of the first NUL or invalid UTF-8, or -1.
func BadTextAt(raw []byte) int {
	at := slices.Index(raw, 0)
	if utf8.Valid(raw) {
		return at
	}
	for i := 0; i < len(raw); {
		char, size := utf8.DecodeRune(raw[i:])
		if char == 0 || char == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return at
}
