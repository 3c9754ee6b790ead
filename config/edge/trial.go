package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/users/access"
)

// maxShown bounds how much of a body the page shows.
const maxShown = 20_000

// exchange is a request and its answer, as the page shows them.
type exchange struct {
	Request, Answer string
	Status          int
	OK              bool
	// Key is the idempotency key that was sent.
	Key string
	// RunID is the run that the answer leads to; "" for others.
	RunID string
}

// exchange sends the request of a form to the service inside this process, and reads the answer.
func (t *Trial) exchange(
	c echo.Context, operation *docs.Operation, document *multipart.FileHeader,
) (*exchange, error) {
	request, shown, err := newTrialRequest(c, operation, document)
	if err != nil {
		return nil, err
	}
	defer func() { _ = request.Body.Close() }() // It was only read.
	answer := &trialAnswer{header: http.Header{}, status: http.StatusOK}
	t.Service.ServeHTTP(answer, request)
	done := &exchange{
		Request: requestLine(request) + headerLines(request.Header) + shown,
		Answer:  fmt.Sprintf("%d %s\n", answer.status, http.StatusText(answer.status)) + answer.text(),
		Status:  answer.status, OK: answer.status < http.StatusBadRequest, Key: request.Header.Get(echoKeyName),
	}
	run, isRun := strings.CutPrefix(answer.header.Get(echo.HeaderLocation), APIPrefix+"/runs/")
	if id, err := uuid.Parse(strings.TrimSuffix(run, "/")); isRun && err == nil {
		done.RunID = id.String()
	}
	return done, nil
}

// newTrialRequest makes the request, and returns how its body is shown.
func newTrialRequest(
	c echo.Context, operation *docs.Operation, document *multipart.FileHeader,
) (*http.Request, string, error) {
	form := c.Request()
	address := &url.URL{Path: operation.Path, RawPath: operation.Path}
	header, query := http.Header{}, url.Values{}
	for _, p := range operation.Parameters {
		value := form.PostFormValue(fieldID(p))
		switch {
		case p.Name == echo.HeaderXRequestID || p.Name == "Request-Id" || value == "" && p.In != "path":
		case p.In == "path":
			name := "{" + p.Name + "}"
			address.Path = strings.ReplaceAll(address.Path, name, value)
			address.RawPath = strings.ReplaceAll(address.RawPath, name, url.PathEscape(value))
		case p.In == "query":
			query.Set(p.Name, value)
		default:
			header.Set(p.Name, value)
		}
	}
	address.RawQuery = query.Encode()
	body, shown, err := trialBody(form, operation, document, header)
	if err != nil {
		return nil, "", err
	}
	// The principal and the right of the session come along with the context.
	request, err := http.NewRequestWithContext(
		access.OnBehalf(form.Context()), operation.Method, address.String(), body)
	if err != nil {
		_ = body.Close() // The request was not made.
		return nil, "", core.InvalidPayload("These values make no valid URL.").Because(err)
	}
	request.Header, request.Host = header, form.Host
	request.RemoteAddr = net.JoinHostPort(c.RealIP(), "0")
	request.RequestURI = address.RequestURI()
	return request, shown, nil
}

// trialBody is the file that was chosen, or the text that was entered.
func trialBody(
	form *http.Request, operation *docs.Operation, document *multipart.FileHeader, header http.Header,
) (io.ReadCloser, string, error) {
	sent, takes := operation.TrialBody()
	switch {
	case !takes:
		return http.NoBody, "", nil
	case sent.IsFile && document == nil:
		return nil, "", core.InvalidPayload("Choose a file.", api.FieldError{
			Pointer: "/document", Code: "required", Detail: "must be given",
		})
	case sent.IsFile:
		file, err := document.Open()
		if err != nil {
			return nil, "", fmt.Errorf("open the file of the form: %w", err)
		}
		header.Set(echo.HeaderContentType, document.Header.Get(echo.HeaderContentType))
		if header.Get("X-Filename") == "" {
			header.Set("X-Filename", "UTF-8''"+url.PathEscape(document.Filename))
		}
		return file, fmt.Sprintf("\n(%d bytes of %s)\n", document.Size, document.Filename), nil
	default:
		text := strings.ReplaceAll(form.PostFormValue("body"), "\r\n", "\n")
		header.Set(echo.HeaderContentType, sent.MediaType)
		return io.NopCloser(strings.NewReader(text)), "\n" + shortened([]byte(text)), nil
	}
}

func requestLine(request *http.Request) string {
	return request.Method + " " + request.URL.RequestURI() + "\nAuthorization: Bearer (your session)\n"
}

func headerLines(header http.Header) string {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			lines.WriteString(name + ": " + value + "\n")
		}
	}
	return lines.String()
}

// shortened is a body as the page shows it.
func shortened(body []byte) string {
	cut := body[:min(len(body), maxShown)]
	for len(cut) > 0 && len(cut) < len(body) && !utf8.RuneStart(body[len(cut)]) {
		cut = cut[:len(cut)-1]
	}
	if !utf8.Valid(cut) {
		return fmt.Sprintf("(%d bytes that are not text)\n", len(body))
	}
	if len(cut) < len(body) {
		return string(cut) + "\n…\n"
	}
	return string(cut)
}

// trialAnswer keeps an answer for the page that shows it.
type trialAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
	// more is set when the answer is longer than the page shows.
	more bool
}

// Header is the header of the answer.
func (a *trialAnswer) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *trialAnswer) WriteHeader(status int) { a.status = status }

// Write keeps the beginning of the body.
func (a *trialAnswer) Write(part []byte) (int, error) {
	room := maxShown + utf8.UTFMax - a.body.Len()
	if len(part) > room {
		a.more = true
	}
	a.body.Write(part[:min(len(part), max(room, 0))])
	return len(part), nil
}

// text is the header and the body, JSON with a line for each member.
func (a *trialAnswer) text() string {
	body := a.body.Bytes()
	var indented bytes.Buffer
	if strings.Contains(a.header.Get(echo.HeaderContentType), "json") && !a.more {
		if err := json.Indent(&indented, body, "", "  "); err == nil {
			body = indented.Bytes()
		}
	}
	return headerLines(a.header) + "\n" + shortened(body)
}
