package reference

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Sample is a program that calls an operation. It finds the service and the token in the variables SV_URL and SV_TOKEN
// of its environment.
type Sample struct {
	// Name is "Python", and Language is "python", as blocks of code are marked.
	Name, Language string
	Code           string
}

// Samples returns a program in each language. All send the same request, which is made of the document's own examples.
func (o *Operation) Samples() []Sample {
	c := o.call()
	return []Sample{
		{Name: "curl", Language: "sh", Code: c.curl()},
		{Name: "Python", Language: "python", Code: c.python()},
		{Name: "Go", Language: "go", Code: c.golang()},
		{Name: "TypeScript", Language: "ts", Code: c.typeScript()},
	}
}

// DocumentFile is the file that the programs read, and what is in it; "" for operations that take none.
func (o *Operation) DocumentFile() (string, string) {
	c := o.call()
	return c.file, c.body
}

// call is the request that the programs send.
type call struct {
	method, path string
	headers      []header
	// body is a text of JSON, or what is in the file.
	body, file string
	// streamed is set for an answer that arrives bit by bit, and decoded for one that is JSON.
	streamed, decoded bool
}

// header is one of a request: what it says, or else where it comes from.
type header struct {
	name, value string
	from        source
}

// source is where a program takes the value of a header from.
type source int

const (
	written source = iota
	token
	signature
	newKey
)

// call fills the operation's path and headers with its examples. What may be left out is left out.
func (o *Operation) call() call {
	c := call{method: o.Method, path: o.Path}
	switch o.Auth {
	case AuthToken:
		c.headers = append(c.headers, header{name: "Authorization", from: token})
	case AuthSignature:
		c.headers = append(c.headers, header{name: "Sv-Signature", from: signature})
	case AuthNone:
	}
	query := url.Values{}
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			c.path = strings.ReplaceAll(c.path, "{"+p.Name+"}", url.PathEscape(p.Example))
		case p.Name == "Idempotency-Key":
			c.headers = append(c.headers, header{name: p.Name, from: newKey})
		case p.In == "query" && p.Required:
			query.Set(p.Name, p.Example)
		}
	}
	if len(query) > 0 {
		c.path += "?" + query.Encode()
	}
	addBody(&c, o)
	if answer, ok := o.success(); ok {
		c.streamed = slices.ContainsFunc(answer.Bodies, func(b Body) bool { return b.MediaType == "text/event-stream" })
		c.decoded = len(answer.Bodies) > 0 && strings.HasSuffix(answer.Bodies[0].MediaType, "json")
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
	c.headers = append(c.headers, header{name: "Content-Type", value: body.MediaType})
	c.body = example.Text
	if !isFile {
		return
	}
	c.file = "workflow.yaml"
	if p, ok := o.Parameter("X-Filename"); ok {
		c.file = p.Example
		c.headers = append(c.headers, header{name: p.Name, value: p.Example})
	}
}

// addDocument sends a file where the document has no example of a body that stands for itself.
func addDocument(c *call, o *Operation) {
	if !slices.ContainsFunc(o.Bodies, func(b Body) bool { return b.MediaType == "*/*" }) {
		return
	}
	c.file, c.body = "meter-readings.csv", "meter_id,read_at,kwh,quality,tariff\n"
	c.headers = append(c.headers,
		header{name: "Content-Type", value: "text/csv"}, header{name: "X-Filename", value: c.file})
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

func (c call) curl() string {
	var code strings.Builder
	code.WriteString("curl ")
	if c.streamed {
		code.WriteString("-N ")
	}
	sends := c.body != ""
	if c.method != http.MethodGet && (c.method != http.MethodPost || !sends) {
		code.WriteString("-X " + c.method + " ")
	}
	code.WriteString(`"$SV_URL` + c.path + `"`)
	for _, h := range c.headers {
		code.WriteString(" \\\n  -H " + h.inShell())
	}
	switch {
	case c.file != "":
		code.WriteString(" \\\n  --data-binary @" + c.file)
	case sends:
		code.WriteString(" \\\n  --data '" + strings.ReplaceAll(c.body, "'", `'\''`) + "'")
	}
	code.WriteByte('\n')
	return code.String()
}

func (h header) inShell() string {
	switch h.from {
	case token:
		return `"Authorization: Bearer $SV_TOKEN"`
	case signature:
		return `"` + h.name + `: $SV_SIGNATURE"`
	case newKey:
		return `"` + h.name + `: $(openssl rand -hex 16)"`
	case written:
	}
	return "'" + h.name + ": " + h.value + "'"
}

func (c call) python() string {
	var code strings.Builder
	code.WriteString("import ")
	if c.body != "" && c.file == "" || c.decoded {
		code.WriteString("json\nimport ")
	}
	code.WriteString("os\n")
	code.WriteString("import urllib.request\n")
	if c.makesKey() {
		code.WriteString("import uuid\n")
	}
	code.WriteString("\nrequest = urllib.request.Request(\n")
	fmt.Fprintf(&code, "    os.environ[\"SV_URL\"] + %s,\n    method=%q,\n", strconv.Quote(c.path), c.method)
	if len(c.headers) > 0 {
		code.WriteString("    headers={\n")
		for _, h := range c.headers {
			fmt.Fprintf(&code, "        %q: %s,\n", h.name, h.inPython())
		}
		code.WriteString("    },\n")
	}
	switch {
	case c.file != "":
		fmt.Fprintf(&code, "    data=open(%q, \"rb\").read(),\n", c.file)
	case c.body != "":
		code.WriteString("    data=json.dumps(" + indented(pythonValue(c.body), "    ") + ").encode(),\n")
	}
	code.WriteString(")\nwith urllib.request.urlopen(request) as answer:\n")
	switch {
	case c.streamed:
		code.WriteString("    for line in answer:\n        print(line.decode(), end=\"\")\n")
	case c.decoded:
		code.WriteString("    print(json.load(answer))\n")
	default:
		code.WriteString("    print(answer.status, answer.read().decode())\n")
	}
	return code.String()
}

func (h header) inPython() string {
	switch h.from {
	case token:
		return `"Bearer " + os.environ["SV_TOKEN"]`
	case signature:
		return `os.environ["SV_SIGNATURE"]`
	case newKey:
		return "str(uuid.uuid4())"
	case written:
	}
	return strconv.Quote(h.value)
}

func (c call) makesKey() bool {
	return slices.ContainsFunc(c.headers, func(h header) bool { return h.from == newKey })
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

// indented moves all lines but the first to the right.
func indented(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }

func (c call) typeScript() string {
	var code strings.Builder
	if c.makesKey() {
		code.WriteString("import { randomUUID } from \"node:crypto\";\n")
	}
	if c.file != "" {
		code.WriteString("import { readFile } from \"node:fs/promises\";\n")
	}
	if code.Len() > 0 {
		code.WriteByte('\n')
	}
	code.WriteString("const answer = await fetch(`${process.env.SV_URL}" + c.path + "`, {\n")
	fmt.Fprintf(&code, "  method: %q,\n", c.method)
	if len(c.headers) > 0 {
		code.WriteString("  headers: {\n")
		for _, h := range c.headers {
			name := h.name
			if strings.Contains(name, "-") {
				name = strconv.Quote(name)
			}
			code.WriteString("    " + name + ": " + h.inTypeScript() + ",\n")
		}
		code.WriteString("  },\n")
	}
	switch {
	case c.file != "":
		fmt.Fprintf(&code, "  body: await readFile(%q),\n", c.file)
	case c.body != "":
		code.WriteString("  body: JSON.stringify(" + indented(c.body, "  ") + "),\n")
	}
	code.WriteString("});\n")
	switch {
	case c.streamed:
		code.WriteString("for await (const part of answer.body ?? []) process.stdout.write(part);\n")
	case c.decoded:
		code.WriteString("console.log(answer.status, await answer.json());\n")
	default:
		code.WriteString("console.log(answer.status, await answer.text());\n")
	}
	return code.String()
}

func (h header) inTypeScript() string {
	switch h.from {
	case token:
		return "`Bearer ${process.env.SV_TOKEN}`"
	case signature:
		return `process.env.SV_SIGNATURE ?? ""`
	case newKey:
		return "randomUUID()"
	case written:
	}
	return strconv.Quote(h.value)
}
