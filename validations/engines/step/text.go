package step

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// decode returns the value of a quoted text. Bytes that are not UTF-8 are read as ISO 8859-1, which old programs
// write. An invalid escape stands for itself.
func decode(raw []byte) string {
	if !utf8.Valid(raw) {
		raw, _ = charmap.ISO8859_1.NewDecoder().Bytes(raw) // All bytes are characters of ISO 8859-1.
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return strings.ReplaceAll(string(raw), "''", "'")
	}
	d := &decoder{page: 'A'}
	for at := 0; at < len(raw); {
		if raw[at] != '\\' {
			d.text.WriteByte(raw[at])
			if bytes.HasPrefix(raw[at:], []byte("''")) {
				at++
			}
			at++
			continue
		}
		at += d.escape(raw[at:])
	}
	return d.text.String()
}

// decoder reads a text with escapes. The page is the part of ISO 8859 that \S\ refers to, as a letter.
type decoder struct {
	text strings.Builder
	page byte
}

// escape reads the escape that a text begins with and returns its length. An invalid one stands for itself.
func (d *decoder) escape(raw []byte) int {
	length := 0
	switch {
	case bytes.HasPrefix(raw, []byte(`\\`)):
		d.text.WriteByte('\\')
		length = len(`\\`)
	case bytes.HasPrefix(raw, []byte(`\S\`)):
		length = d.shifted(raw)
	case len(raw) > len(`\PA`) && raw[1] == 'P' && raw[3] == '\\' && pageOf(raw[2]) != nil:
		d.page = raw[2]
		length = len(`\PA\`)
	case bytes.HasPrefix(raw, []byte(`\X\`)):
		length = d.single(raw)
	case bytes.HasPrefix(raw, []byte(`\X2\`)):
		length = d.wide(raw, 4) // digits of a character of UTF-16
	case bytes.HasPrefix(raw, []byte(`\X4\`)):
		length = d.wide(raw, 8) // digits of a character of UTF-32
	}
	if length == 0 {
		d.text.WriteByte('\\')
		return 1
	}
	return length
}

// shifted reads a character of the upper half of the page.
func (d *decoder) shifted(raw []byte) int {
	const begin, high = len(`\S\`), 0x80
	if len(raw) == begin || raw[begin] >= high {
		return 0
	}
	d.text.WriteRune(pageOf(d.page).DecodeByte(raw[begin] | high))
	return begin + 1
}

// single reads a character of ISO 8859-1 in two digits.
func (d *decoder) single(raw []byte) int {
	const length = len(`\X\00`)
	if len(raw) < length {
		return 0
	}
	code, ok := hexadecimal(raw[len(`\X\`):length])
	if !ok {
		return 0
	}
	d.text.WriteRune(code)
	return length
}

// wide reads characters of so many digits each, up to \X0\.
func (d *decoder) wide(raw []byte, digits int) int {
	const open = len(`\X2\`)
	ending := []byte(`\X0\`)
	length := bytes.Index(raw[open:], ending)
	if length <= 0 || length%digits != 0 {
		return 0
	}
	units := make([]rune, 0, length/digits)
	for codes := raw[open : open+length]; len(codes) > 0; codes = codes[digits:] {
		code, ok := hexadecimal(codes[:digits])
		if !ok {
			return 0
		}
		units = append(units, code)
	}
	for i := 0; i < len(units); i++ {
		char := units[i]
		if i+1 < len(units) {
			if pair := utf16.DecodeRune(char, units[i+1]); pair != utf8.RuneError {
				char = pair
				i++
			}
		}
		d.text.WriteRune(char)
	}
	return open + length + len(ending)
}

func hexadecimal(digits []byte) (rune, bool) {
	code, err := strconv.ParseUint(string(digits), 16, 32)
	if err != nil || code > utf8.MaxRune {
		return 0, false
	}
	return rune(code), true
}

// pageOf returns a part of ISO 8859, of which A is the first, or nil.
func pageOf(letter byte) *charmap.Charmap {
	switch letter {
	case 'A':
		return charmap.ISO8859_1
	case 'B':
		return charmap.ISO8859_2
	case 'C':
		return charmap.ISO8859_3
	case 'D':
		return charmap.ISO8859_4
	case 'E':
		return charmap.ISO8859_5
	case 'F':
		return charmap.ISO8859_6
	case 'G':
		return charmap.ISO8859_7
	case 'H':
		return charmap.ISO8859_8
	case 'I':
		return charmap.ISO8859_9
	default:
		return nil
	}
}
