package body

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
)

const (
	multipartMediaType = "multipart/form-data"
	// formMediaType is what curl, wget and Python's urllib declare for any body unless they are told its type.
	formMediaType = "application/x-www-form-urlencoded"

	maxMediaTypeLength = 255
)

// declaredType is a normalized media type: names in lower case, parameters sorted, without a charset that is
// UTF-8 or part of it. It is empty where none was declared.
type declaredType struct {
	// text is the type with its parameters, essence is without them.
	text, essence string
	boundary      string
}

// parseMediaType normalizes a media type.
func parseMediaType(value string, at api.FieldError) (declaredType, error) {
	if strings.TrimSpace(value) == "" {
		return declaredType{}, nil
	}
	essence, parameters, err := mime.ParseMediaType(value)
	if err != nil || !strings.Contains(essence, "/") {
		return declaredType{}, unsupported(at, "The media type cannot be read. Write it like text/csv; charset=utf-8.")
	}
	if charset, ok := parameters["charset"]; ok {
		parameters["charset"] = strings.ToLower(charset)
		switch parameters["charset"] {
		case "utf-8", "utf8", "us-ascii":
			delete(parameters, "charset")
		default:
			if !isDecoded(essence, parameters["charset"]) {
				return declaredType{}, unsupported(at, "This charset is not read. Send UTF-8, or a table of text in "+
					"utf-16, iso-8859-1 or windows-1252.")
			}
		}
	}
	text := mime.FormatMediaType(essence, parameters)
	if text == "" || len(text) > maxMediaTypeLength {
		return declaredType{}, unsupported(at, "The media type is too long or has a parameter that cannot be written.")
	}
	return declaredType{text: text, essence: essence, boundary: parameters["boundary"]}, nil
}

// isDecoded reports whether a document of the type may be in the charset. Tables are decoded, XML says its encoding
// itself, and what is not a text is none of this service's business.
func isDecoded(essence, charset string) bool {
	switch {
	case essence == mediatype.CSV, essence == mediatype.TSV, essence == mediatype.Text:
		return slices.Contains([]string{"utf-16", "utf16", "iso-8859-1", "latin1", "windows-1252", "cp1252"}, charset)
	case mediatype.Canonical(essence) == mediatype.XML, strings.HasSuffix(essence, "+xml"):
		return true
	default:
		isYAML := mediatype.Canonical(essence) == mediatype.YAML
		return !isYAML && !mediatype.IsJSON(essence) && !strings.HasPrefix(essence, "text/")
	}
}

// requestMediaType reads the Content-Type of a body, which may not be compressed.
func requestMediaType(header http.Header) (declaredType, error) {
	at := api.FieldError{Parameter: "Content-Type"}
	if len(header.Values("Content-Type")) > 1 {
		return declaredType{}, unsupported(at, "The request has several Content-Type headers. Send one.")
	}
	for _, line := range header.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			coding = strings.TrimSpace(coding)
			if coding != "" && !strings.EqualFold(coding, "identity") {
				return declaredType{}, unsupported(api.FieldError{Parameter: "Content-Encoding"},
					"A compressed request body is not accepted. Send it without Content-Encoding.")
			}
		}
	}
	return parseMediaType(header.Get("Content-Type"), at)
}

func unsupported(at api.FieldError, detail string) error {
	err := core.NewError(api.CodeUnsupportedMediaType, detail)
	at.Code, at.Detail = "unsupported", detail
	err.Fields = []api.FieldError{at}
	return err
}

// RefuseType refuses a document if the workflow accepts none of its types.
func RefuseType(body Body, accepts []string) error {
	why := ". Send a document of one of these types, or declare its type if it is one"
	switch {
	case body.MediaType == formMediaType:
		why = ". curl and others declare this type for any body. " +
			"Set Content-Type to the type of the document, or X-Filename to its name"
	case body.MediaType == mediatype.Binary:
		why = ". Declare the type of the document, or give it a file name with the right extension"
	case len(body.OtherTypes) > 0:
		why = ". The type is derived from the file extension; declare another one if the name is wrong"
	}
	return core.NewError(api.CodeUnsupportedMediaType, fmt.Sprintf("The workflow does not accept %s. It accepts %s%s.",
		body.MediaType, strings.Join(accepts, ", "), why))
}
