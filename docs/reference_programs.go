package docs

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
)

// Program is a program that calls an operation. It finds the service and the token in the variables SV_URL and SV_TOKEN
// of its environment.
type Program struct {
	// Name is "Python", and Language is "python", as blocks of code are marked.
	Name, Language string
	Code           string
}

// programTemplates are the texts of the programs, each in a file named by its language.
//
//nolint:gochecknoglobals // They are made of embedded files once, and do not change.
var programTemplates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("programs").Funcs(template.FuncMap{
		"indented": func(by, text string) string { return strings.ReplaceAll(text, "\n", "\n"+by) },
		"inPython": pythonValue,
		"inGo":     goText,
		"inShell":  func(text string) string { return strings.ReplaceAll(text, "'", `'\''`) },
	}).ParseFS(siteFiles, "site/program.*.tmpl")
})

// Programs returns a program in each language. All send the same request, which is made of the document's own examples.
func (o *Operation) Programs() ([]Program, error) {
	templates, err := programTemplates()
	if err != nil {
		return nil, fmt.Errorf("read the texts of the programs: %w", err)
	}
	programs := []Program{
		{Name: "curl", Language: "sh"},
		{Name: "Python", Language: "python"},
		{Name: "Go", Language: "go"},
		{Name: "TypeScript", Language: "ts"},
	}
	for i := range programs {
		var code strings.Builder
		if err := templates.ExecuteTemplate(&code, "program."+programs[i].Language+".tmpl", o.call()); err != nil {
			return nil, fmt.Errorf("write the program for %s: %w", o.ID, err)
		}
		programs[i].Code = code.String()
	}
	return programs, nil
}

// DocumentFile is the file that the programs read, and what is in it; "" for operations that take none.
func (o *Operation) DocumentFile() (string, string) {
	c := o.call()
	return c.File, c.Body
}

// call is the request that the programs send.
type call struct {
	Method, Path string
	Headers      []header
	// Body is a text of JSON, or what is in the file.
	Body, File string
	// Streamed is set for an answer that arrives bit by bit, and Decoded for one that is JSON.
	Streamed, Decoded bool
	// MakesKey says that the request has an idempotency key, which each execution makes anew.
	MakesKey bool
}

// header is one of a request: what it says, or else where it comes from: "token", "signature" or "key".
type header struct {
	Name, Value, From string
}

// call fills the operation's path and headers with its examples. What may be left out is left out.
func (o *Operation) call() call {
	c := call{Method: o.Method, Path: o.Path}
	switch o.Auth {
	case AuthToken:
		c.Headers = append(c.Headers, header{Name: "Authorization", From: "token"})
	case AuthSignature:
		c.Headers = append(c.Headers, header{Name: "Sv-Signature", From: "signature"})
	case AuthNone:
	}
	query := url.Values{}
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			c.Path = strings.ReplaceAll(c.Path, "{"+p.Name+"}", url.PathEscape(p.Example))
		case p.Name == "Idempotency-Key":
			c.Headers, c.MakesKey = append(c.Headers, header{Name: p.Name, From: "key"}), true
		case p.In == "query" && p.Required:
			query.Set(p.Name, p.Example)
		}
	}
	if len(query) > 0 {
		c.Path += "?" + query.Encode()
	}
	addBody(&c, o)
	if answer, ok := o.success(); ok {
		c.Streamed = slices.ContainsFunc(answer.Bodies, func(b Body) bool { return b.MediaType == "text/event-stream" })
		c.Decoded = len(answer.Bodies) > 0 && strings.HasSuffix(answer.Bodies[0].MediaType, "json")
	}
	return c
}

// success returns the first answer to a request that has succeeded.
func (o *Operation) success() (Answer, bool) {
	i := slices.IndexFunc(o.Answers, Answer.OK)
	if i < 0 {
		return Answer{}, false
	}
	return o.Answers[i], true
}

// addBody sends a document as a file, which takes the least around it, and all else as JSON.
func addBody(c *call, o *Operation) {
	body, example, isFile := o.sentBody()
	if body.MediaType == "" {
		addDocument(c, o)
		return
	}
	c.Headers = append(c.Headers, header{Name: "Content-Type", Value: body.MediaType})
	c.Body = example.Text
	if !isFile {
		return
	}
	c.File = "workflow.yaml"
	if p, ok := o.Parameter("X-Filename"); ok {
		c.File = p.Example
		c.Headers = append(c.Headers, header{Name: p.Name, Value: p.Example})
	}
}

// addDocument sends a file where the document has no example of a body that stands for itself.
func addDocument(c *call, o *Operation) {
	if !slices.ContainsFunc(o.Bodies, func(b Body) bool { return b.MediaType == "*/*" }) {
		return
	}
	c.File, c.Body = "meter-readings.csv", "meter_id,read_at,kwh,quality,tariff\n"
	c.Headers = append(c.Headers,
		header{Name: "Content-Type", Value: "text/csv"}, header{Name: "X-Filename", Value: c.File})
}

// sentBody chooses the body that the programs send: a document as it is before one that is wrapped up.
func (o *Operation) sentBody() (Body, Example, bool) {
	var chosen Body
	var example Example
	isFile := false
	for _, body := range o.Bodies {
		if len(body.Examples) == 0 || len(body.Examples[0].Fields) > 0 {
			continue
		}
		raw := !strings.HasSuffix(body.MediaType, "json")
		if chosen.MediaType == "" || raw && !isFile {
			chosen, example, isFile = body, body.Examples[0], raw
		}
	}
	return chosen, example, isFile
}

// pythonValue writes JSON as Python does. Texts are the same in both.
func pythonValue(text string) string {
	words := strings.NewReplacer("true", "True", "false", "False", "null", "None")
	var value strings.Builder
	for text != "" {
		start := strings.IndexByte(text, '"')
		if start < 0 {
			break
		}
		value.WriteString(words.Replace(text[:start]))
		quoted, err := strconv.QuotedPrefix(text[start:])
		if err != nil {
			// JSON may escape what Go does not; no example does.
			quoted = text[start:]
		}
		value.WriteString(quoted)
		text = text[start+len(quoted):]
	}
	value.WriteString(words.Replace(text))
	return value.String()
}

func goText(text string) string {
	if strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}
