package body

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const (
	filenameHeader = "X-Filename"

	maxFilenameLength         = 255
	maxNameLength             = 255
	maxShortDescriptionLength = 2000
)

// checkText refuses what cannot be stored or shown: bad UTF-8, control characters other than those allowed,
// and more than maxLength characters.
func checkText(at api.FieldError, what, text string, maxLength int, allowed string) error {
	if !utf8.ValidString(text) {
		return invalid(at, what+" is not valid UTF-8.")
	}
	refused := func(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune(allowed, c) }
	if strings.ContainsFunc(text, refused) {
		return invalid(at, what+" has control characters, which are not allowed.")
	}
	if utf8.RuneCountInString(text) > maxLength {
		return invalid(at, fmt.Sprintf("%s is longer than %d characters.", what, maxLength))
	}
	return nil
}

const otherCharset = "The file name is in another charset. Send it in UTF-8."

// headerFilename reads the optional X-Filename: UTF-8 as it is, or behind its charset and percent-encoded as RFC 8187
// has it, for clients that can only send ASCII. That is the rule for the file name of a form's part, too.
func headerFilename(header http.Header) (string, error) {
	at := api.FieldError{Parameter: filenameHeader}
	lines := header.Values(filenameHeader)
	if len(lines) > 1 {
		return "", invalid(at, "The request has several X-Filename headers. Send one.")
	}
	value := header.Get(filenameHeader)
	const charsetLanguageName = 3
	if extended := strings.SplitN(value, "'", charsetLanguageName); len(extended) == charsetLanguageName {
		switch strings.ToUpper(extended[0]) {
		case "UTF-8":
			decoded, err := url.PathUnescape(extended[2])
			if err != nil {
				return "", invalid(at, "The percent-encoding of the file name is invalid.")
			}
			value = decoded
		case "ISO-8859-1":
			return "", invalid(at, otherCharset)
		}
	}
	return cleanFilename(at, value)
}

// partFilename returns the file name of a form's part. Browsers write a quotation mark in filename as %22 and leave
// every other percent sign as it is; filename* was decoded with the header, if it is in UTF-8.
func partFilename(disposition, filename string) (string, error) {
	extended := strings.Contains(strings.ToLower(disposition), "filename*")
	switch {
	case extended && filename == "":
		return "", invalid(memberAt("file"), otherCharset)
	case extended:
		return filename, nil
	default:
		return strings.ReplaceAll(filename, "%22", `"`), nil
	}
}

// cleanFilename keeps the last element of a path, be it of Unix or of Windows.
func cleanFilename(at api.FieldError, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	filename := value[strings.LastIndexAny(value, `/\`)+1:]
	if filename == "" || filename == "." || filename == ".." {
		return "", invalid(at, "The file name is that of a folder.")
	}
	if strings.ContainsFunc(filename, cli.Misleads) {
		return "", invalid(at, "Characters that change the direction of writing, and those without a width, are not "+
			"allowed in the name of a file: they make it look like another one.")
	}
	return filename, checkText(at, "The file name", filename, maxFilenameLength, "")
}

// metadataDigest checks that metadata is a JSON object and returns the digest of its structure.
func metadataDigest(metadata string, limits Limits) (string, error) {
	at := api.FieldError{Pointer: "/metadata"}
	if int64(len(metadata)) > limits.MaxTextBytes {
		return "", invalid(at, fmt.Sprintf("Metadata is larger than %d bytes.", limits.MaxTextBytes))
	}
	digest, err := idempotency.DigestJSON([]byte(metadata), limits.MaxDepth)
	if err != nil {
		return "", invalidJSON("/metadata", "Metadata", err)
	}
	if !strings.HasPrefix(strings.TrimLeft(metadata, " \t\r\n"), "{") {
		return "", invalid(at, "Metadata must be a JSON object.")
	}
	if hasNUL([]byte(metadata)) {
		return "", invalid(at, "Metadata has the character U+0000, which cannot be stored.")
	}
	return hex.EncodeToString(digest[:]), nil
}

// hasNUL reports whether a string within a valid JSON text has the character U+0000, which JSON can only
// write as an escape.
func hasNUL(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		if bytes.HasPrefix(text[i:], []byte(`\u0000`)) {
			return true
		}
		text = text[i+2:]
	}
}

// invalidJSON says what is wrong with the JSON text at the pointer.
func invalidJSON(pointer, what string, err error) error {
	jsonErr, ok := errors.AsType[*idempotency.JSONError](err)
	if !ok {
		return fmt.Errorf("read JSON: %w", err)
	}
	at := api.FieldError{Pointer: pointer + jsonErr.Pointer}
	return invalid(at, fmt.Sprintf("%s is not usable as JSON: %s (byte %d).", what, jsonErr.Reason, jsonErr.Offset))
}

// invalidAt refuses a member or a part; its name begins the sentence, for clients that show nothing else.
func invalidAt(at api.FieldError, fault string) error {
	at.Code, at.Detail = "invalid", fault
	return core.InvalidPayload(at.Name()+" "+fault+".", at)
}

func invalid(at api.FieldError, detail string) error {
	at.Code, at.Detail = "invalid", detail
	return core.InvalidPayload(detail, at)
}
