package idemcheck

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Schema is the JSON Schema of descriptions.
//
//go:embed description.schema.json
var Schema []byte

// Description says how requests to an API look and how their effects are counted. Texts may have ${NAME}, a variable of
// the environment, and {{ref}}, {{uuid}}, {{number}} and {{filler}}: values that the checker chooses.
type Description struct {
	Request Change  `yaml:"request"`
	Key     Key     `yaml:"key"`
	Effects Effects `yaml:"effects"`
	// Different mean something else than the request; Same mean the same, but are written in another way.
	Different []Change `yaml:"different"`
	Same      []Change `yaml:"same"`
	// Refused are requests that the API refuses, such as invalid ones. Failing is one that it fails to do.
	Refused []Change `yaml:"refused"`
	Failing *Change  `yaml:"failing"`
	// Slow is under way for a second or more.
	Slow   *Change `yaml:"slow"`
	Tenant *Change `yaml:"tenant"`
	User   *Change `yaml:"user"`
	// Also is the base URL of another process of the same API.
	Also   string `yaml:"also"`
	Hooks  Hooks  `yaml:"hooks"`
	Limits Limits `yaml:"limits"`

	variables []string
}

// Change is a request, or what one has in place of the first one.
type Change struct {
	Method  string            `yaml:"method"`
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	Body    *string           `yaml:"body"`
	// Mend is a command after which the same request is not refused any more.
	Mend string `yaml:"mend"`
}

// Key says how keys are sent.
type Key struct {
	Header string `yaml:"header"`
	// Quoted keys are sent as strings of RFC 8941.
	Quoted   bool `yaml:"quoted"`
	Required bool `yaml:"required"`
	// Lifetime is after how long a key is forgotten, if that is short enough to wait for.
	Lifetime Duration `yaml:"lifetime"`
}

// Effects says how to count what requests have done. One of the ways is set, or none.
type Effects struct {
	// URL is of a GET, and Pointer (RFC 6901) of a list or a number in its answer.
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
	Pointer string            `yaml:"pointer"`
	// Command prints a number. It is run by sh.
	Command string `yaml:"command"`
	// SQL selects a number from the PostgreSQL database.
	SQL      string `yaml:"sql"`
	Database string `yaml:"database"`
	// Answer points to a value of each answer that stands for the effect, such as its id. What no answer shows is not
	// counted.
	Answer *string `yaml:"answer"`
	// Wait is how long an effect takes until it can be counted.
	Wait Duration `yaml:"wait"`
}

// Hooks are commands that sh runs.
type Hooks struct {
	// Clear is run before the first request, and Restart kills the API and starts it again.
	Clear   string `yaml:"clear"`
	Restart string `yaml:"restart"`
}

// Limits bound what is sent.
type Limits struct {
	Rate float64 `yaml:"rate"`
	// Settle is how long a request may be "in progress" after its process or its client was lost.
	Settle Duration `yaml:"settle"`
	// Later is how long the case replay/later waits.
	Later Duration `yaml:"later"`
}

// Duration is a time.Duration, written as 90s or 2m.
type Duration time.Duration

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	if err == nil && read < 0 {
		err = errors.New("a duration is not negative")
	}
	*d = Duration(read)
	return err
}

// What is meant where a description is silent.
const (
	defaultHeader = "Idempotency-Key"
	defaultSettle = 30 * time.Second
	defaultRate   = 500
)

var (
	variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	value    = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)
)

// Read reads a description. Variables are looked up when a request is made; one that is not set is an error here.
func Read(text []byte, lookup func(name string) (string, bool)) (*Description, error) {
	d := &Description{Key: Key{Header: defaultHeader}, Limits: Limits{
		Rate: defaultRate, Settle: Duration(defaultSettle),
	}}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(d); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	for _, found := range variable.FindAllSubmatch(text, -1) {
		if _, set := lookup(string(found[1])); !set {
			return nil, fmt.Errorf("the description names ${%s}, which the environment does not have", found[1])
		}
		d.variables = append(d.variables, string(found[1]))
	}
	for _, found := range value.FindAllSubmatch(text, -1) {
		if !slices.Contains([]string{"ref", "uuid", "number", "filler"}, string(found[1])) {
			return nil, fmt.Errorf("there is no {{%s}}, only {{ref}}, {{uuid}}, {{number}} and {{filler}}", found[1])
		}
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Description) check() error {
	if d.Request.URL == "" {
		return errors.New("request.url is missing: where do requests go to?")
	}
	d.Request.Method = cmp.Or(strings.ToUpper(d.Request.Method), http.MethodPost)
	if d.Request.Body == nil {
		d.Request.Body = new(string)
	}
	ways, e := 0, d.Effects
	for _, set := range []bool{e.URL != "", e.Command != "", e.SQL != "", e.Answer != nil} {
		if set {
			ways++
		}
	}
	switch {
	case ways > 1:
		return errors.New("effects are counted in one way: by url, command, sql or answer")
	case e.SQL != "" && e.Database == "":
		return errors.New("effects.database is missing, such as ${DATABASE_URL}")
	case d.Limits.Rate <= 0:
		return errors.New("limits.rate is more than 0")
	case !value.MatchString(d.Request.URL + *d.Request.Body + fmt.Sprint(d.Request.Headers)):
		return errors.New("the request has no {{ref}} or {{uuid}}: its effects could not be told from those of others")
	}
	return nil
}

// Address is where a request goes to: the URL of the description, from the base if it is relative.
func (d *Description) Address(base string) (*url.URL, error) {
	to, err := addressOf(base, variable.ReplaceAllString(value.ReplaceAllString(d.Request.URL, "x"), "x"))
	switch {
	case err != nil:
		return nil, err
	case to.Host == "" || to.Scheme != "http" && to.Scheme != "https":
		return nil, fmt.Errorf("%s is no address of an API, such as http://localhost:3000", to)
	}
	return to, nil
}

// over is the change on top of a request.
func (c Change) over(base Change) Change {
	merged := Change{
		Method: cmp.Or(strings.ToUpper(c.Method), base.Method), URL: cmp.Or(c.URL, base.URL),
		Headers: maps.Clone(base.Headers), Body: base.Body, Mend: c.Mend,
	}
	if c.Body != nil {
		merged.Body = c.Body
	}
	for name, text := range c.Headers {
		if merged.Headers == nil {
			merged.Headers = make(map[string]string)
		}
		for old := range merged.Headers {
			if strings.EqualFold(old, name) {
				delete(merged.Headers, old)
			}
		}
		merged.Headers[name] = text
	}
	return merged
}

// kind is what a different request has changed.
func (c Change) kind(base Change) string {
	path := func(address string) string { before, _, _ := strings.Cut(address, "?"); return before }
	switch {
	case c.Method != "" && !strings.EqualFold(c.Method, base.Method):
		return "method"
	case c.URL != "" && path(c.URL) != path(base.URL):
		return "path"
	case c.URL != "" && c.URL != base.URL:
		return "query"
	case c.Body != nil:
		return "body"
	case slices.ContainsFunc(slices.Collect(maps.Keys(c.Headers)), func(name string) bool {
		return strings.EqualFold(name, "Content-Type")
	}):
		return "type"
	default:
		return "header"
	}
}
