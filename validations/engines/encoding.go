package engines

import (
	"bytes"
	"io"
	"strings"

	"golang.org/x/text/encoding/charmap"
)

// knownEncodings names the encodings of tables for messages.
const knownEncodings = "utf-8, iso-8859-1 or windows-1252"

// decoderFor returns what turns a text of the named encoding into UTF-8.
func decoderFor(name string) (func(io.Reader) io.Reader, bool) {
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8":
		return func(r io.Reader) io.Reader { return r }, true
	case "iso-8859-1", "latin1":
		return charmap.ISO8859_1.NewDecoder().Reader, true
	case "windows-1252", "cp1252":
		return charmap.Windows1252.NewDecoder().Reader, true
	default:
		return nil, false
	}
}

// isUTF16 says whether a text begins with the byte order mark of UTF-16, which spreadsheets and Windows write.
func isUTF16(text []byte) bool {
	return bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff})
}
