package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

const (
	defaultAttemptTimeout = 30 * time.Second
	maxAttemptTimeout     = 300
	maxCallbackTimeout    = 7 * 24 * 3600
	maxURLChars           = 2000
	maxHTTPHeaders        = 20
	maxHeaderChars        = 1000
	maxParameterBytes     = 64 << 10
	maxSeverities         = 500

	// nameChars may stand in the names of headers.
	nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
)

// errForeign means that an HTTP engine was run like one that works by itself.
var errForeign = errors.New("the document is checked by another service, which an engine does not call")

// HTTP is the engine of http steps, whose work another service does. It knows where that service is, how it wants to be
// called and how to read its answers; the call itself is made elsewhere.
type HTTP struct {
	URL        string
	Headers    map[string]string
	Parameters json.RawMessage
	// AttemptTimeout bounds one attempt of the call.
	AttemptTimeout time.Duration
	// Idempotent says that the call may be repeated when its outcome is unknown.
	Idempotent bool
	// CallbackTimeout is how long the service may take to answer later; 0 means that it has to answer at once.
	CallbackTimeout time.Duration

	severities map[string]Severity
	limits     Limits
}

// Origin returns the scheme, host and port of the URL in one form (RFC 6454), so that all steps that call one service
// name it equally.
func (h *HTTP) Origin() string {
	return origin(h.URL)
}

// Run refuses: an engine touches no network.
func (*HTTP) Run(context.Context, Document) (Report, error) {
	return Report{}, errForeign
}

// httpConfig is the configuration of an HTTP step.
type httpConfig struct {
	URL                    string              `json:"url"`
	Headers                map[string]string   `json:"headers,omitempty"`
	Parameters             json.RawMessage     `json:"parameters,omitempty"`
	AttemptTimeoutSeconds  *int                `json:"attempt_timeout_seconds,omitempty"`
	Idempotent             *bool               `json:"idempotent,omitempty"`
	CallbackTimeoutSeconds int                 `json:"callback_timeout_seconds,omitempty"`
	Severities             map[string]Severity `json:"severities,omitempty"`
}

// compileHTTP checks the configuration of a step and returns its engine, or everything that is wrong with it.
func compileHTTP(c httpConfig, limits Limits) (*HTTP, []ConfigError) {
	faults := CheckCall(c.URL, c.Headers, false)
	refuse := func(code, detail string, at ...string) {
		faults = append(faults, engine.NewConfigError(Pointer(at...), code, detail))
	}
	isObject := jsontext.Value(c.Parameters).Kind() == '{'
	if len(c.Parameters) > 0 && !isObject || len(c.Parameters) > maxParameterBytes {
		refuse("http.parameters", fmt.Sprintf("use a JSON object of at most %d bytes", maxParameterBytes), "parameters")
	}
	if len(c.Severities) > maxSeverities {
		refuse("http.severities", fmt.Sprintf("at most %d are allowed", maxSeverities), "severities")
	}
	for _, code := range slices.Sorted(maps.Keys(c.Severities)) {
		if !isForeignCode(code) || !c.Severities[code].Known() {
			detail := "give each code of the validator, without external., one of ERROR, WARNING and INFO"
			refuse("http.severities", detail, "severities", code)
		}
	}
	e := &HTTP{
		URL: c.URL, Headers: c.Headers, Parameters: c.Parameters, AttemptTimeout: defaultAttemptTimeout,
		Idempotent: c.Idempotent == nil || *c.Idempotent, severities: c.Severities, limits: limits,
		CallbackTimeout: time.Duration(c.CallbackTimeoutSeconds) * time.Second,
	}
	if c.AttemptTimeoutSeconds != nil {
		e.AttemptTimeout = time.Duration(*c.AttemptTimeoutSeconds) * time.Second
		if *c.AttemptTimeoutSeconds < 1 || *c.AttemptTimeoutSeconds > maxAttemptTimeout {
			refuse("http.timeout", fmt.Sprintf("use 1 to %d seconds", maxAttemptTimeout), "attempt_timeout_seconds")
		}
	}
	if c.CallbackTimeoutSeconds < 0 || c.CallbackTimeoutSeconds > maxCallbackTimeout {
		detail := fmt.Sprintf("use 1 to %d seconds, or leave it out when there are no callbacks", maxCallbackTimeout)
		refuse("http.timeout", detail, "callback_timeout_seconds")
	}
	return e, faults
}

// CheckCall says what is wrong with the address and the headers of a call, by their pointers. Headers of a workflow may
// hold no secrets, because everyone who may see the workflow sees them.
func CheckCall(address string, headers map[string]string, mayHoldSecrets bool) []ConfigError {
	faults := []ConfigError{}
	if detail := urlFault(address); detail != "" {
		faults = engine.Refuse(Pointer("url"), "http.url", detail)
	}
	if len(headers) > maxHTTPHeaders {
		detail := fmt.Sprintf("at most %d headers are allowed", maxHTTPHeaders)
		faults = append(faults, engine.NewConfigError(Pointer("headers"), "http.headers", detail))
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if detail := headerFault(name, headers[name], mayHoldSecrets); detail != "" {
			faults = append(faults, engine.NewConfigError(Pointer("headers", name), "http.headers", detail))
		}
	}
	return faults
}

// urlFault refuses what different programs read as different addresses. Which addresses may be called is decided when
// the connection is made, not by how they are written.
func urlFault(text string) string {
	if len(text) > maxURLChars {
		return fmt.Sprintf("use at most %d characters", maxURLChars)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		return "use ASCII without spaces and backslashes; write other letters as %-escapes, in host names in Punycode"
	}
	address, err := url.Parse(text)
	switch {
	case err != nil || address.Scheme != "https" && address.Scheme != "http":
		return "use an absolute address that begins with https://"
	case address.User != nil:
		return "leave out user and password: everyone who may see the workflow would see them"
	case strings.Contains(text, "#"):
		return "leave out the fragment"
	case !isHost(address.Hostname()) || !isPort(address):
		return "use a host name or a plain IP address, with a port from 1 to 65535 if any"
	default:
		return ""
	}
}

// isHost takes names and the canonical form of IP addresses. Other forms of numbers (127.1, 0x7f000001) are names to
// some programs and addresses to others.
func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return !strings.Contains(host, "%")
	}
	return hostName.MatchString(host)
}

// hostName is a name whose last label begins with no digit.
var hostName = regexp.MustCompile(`^(?:[\w-]+\.)*[A-Za-z_][\w-]*\.?$`)

func isPort(address *url.URL) bool {
	port := address.Port()
	if port == "" {
		return !strings.HasSuffix(address.Host, ":")
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0
}

// ReadHeaders reads headers as people write them: one a line, the name and the value with a colon between them.
func ReadHeaders(text string) map[string]string {
	headers := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); name != "" {
			headers[name] = strings.TrimSpace(value)
		}
	}
	return headers
}

func headerFault(name, value string, mayHoldSecrets bool) string {
	lower := strings.ToLower(name)
	switch {
	case name == "" || len(name) > maxHeaderChars || strings.Trim(name, nameChars) != "":
		return "is not the name of a header"
	case len(value) > maxHeaderChars || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Sprintf("must have a value of at most %d printable ASCII characters", maxHeaderChars)
	case isOurHeader(lower):
		return "is set by the service itself"
	case !mayHoldSecrets && looksLikeSecret(lower):
		return "looks like a secret, which everyone who may see the workflow would see; verify the signature instead"
	default:
		return ""
	}
}

func looksLikeSecret(lower string) bool {
	return slices.ContainsFunc([]string{"authorization", "cookie", "token", "secret", "password", "key"},
		func(word string) bool { return strings.Contains(lower, word) })
}

// isOurHeader reports whether a header is set by the call or is about the connection.
func isOurHeader(lower string) bool {
	return strings.HasPrefix(lower, "sv-") || strings.HasPrefix(lower, "webhook-") ||
		strings.HasPrefix(lower, "proxy-") ||
		slices.Contains([]string{
			"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect",
			"host", "idempotency-key", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
		}, lower)
}

// describeHTTP says what a step demands of documents.
func describeHTTP(c httpConfig, _ Limits) []Requirement {
	return []Requirement{{Subject: c.URL, Words: "this service finds no errors in the document"}}
}
