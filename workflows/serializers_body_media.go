package workflows

import (
	"mime"
	"net/http"
	"strings"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	jsonMediaType   = "application/json"
	binaryMediaType = "application/octet-stream"
	textMediaType   = "text/plain"

	multipartMediaType = "multipart/form-data"

	maxMediaTypeLength = 255
)

// mediaType is a normalized media type: names in lower case, parameters sorted, without a charset that is
// UTF-8 or part of it.
type mediaType struct {
	// text is the type with its parameters, essence is without them.
	text, essence string
	boundary      string
}

// isJSON reports whether documents of the type are JSON.
func (m mediaType) isJSON() bool {
	return m.essence == jsonMediaType || m.essence == "text/json" || strings.HasSuffix(m.essence, "+json")
}

// parseMediaType normalizes a media type; an empty one is the fallback.
func parseMediaType(value, fallback string, at core.FieldError) (mediaType, error) {
	if strings.TrimSpace(value) == "" {
		value = fallback
	}
	essence, parameters, err := mime.ParseMediaType(value)
	if err != nil || !strings.Contains(essence, "/") {
		return mediaType{}, unsupported(at, "The media type cannot be read. Write it like text/csv; charset=utf-8.")
	}
	if charset, ok := parameters["charset"]; ok {
		parameters["charset"] = strings.ToLower(charset)
		switch parameters["charset"] {
		case "utf-8", "utf8", "us-ascii":
			delete(parameters, "charset")
		}
	}
	text := mime.FormatMediaType(essence, parameters)
	if text == "" || len(text) > maxMediaTypeLength {
		return mediaType{}, unsupported(at, "The media type is too long or has a parameter that cannot be written.")
	}
	return mediaType{text: text, essence: essence, boundary: parameters["boundary"]}, nil
}

// requestMediaType reads the Content-Type; a request without one brings bytes.
func requestMediaType(header http.Header) (mediaType, error) {
	at := core.FieldError{Parameter: "Content-Type"}
	if len(header.Values("Content-Type")) > 1 {
		return mediaType{}, unsupported(at, "The request has several Content-Type headers. Send one.")
	}
	return parseMediaType(header.Get("Content-Type"), binaryMediaType, at)
}

func refuseContentEncoding(header http.Header) error {
	for _, line := range header.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			coding = strings.TrimSpace(coding)
			if coding != "" && !strings.EqualFold(coding, "identity") {
				return unsupported(core.FieldError{Parameter: "Content-Encoding"},
					"A compressed request body is not accepted. Send it without Content-Encoding.")
			}
		}
	}
	return nil
}

func unsupported(at core.FieldError, detail string) error {
	err := core.NewError(core.CodeUnsupportedMediaType, detail)
	at.Code, at.Detail = "unsupported", detail
	err.Fields = []core.FieldError{at}
	return err
}
