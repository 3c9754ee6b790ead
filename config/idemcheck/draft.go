package idemcheck

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/idemcheck"
)

func initCommand() *cobra.Command {
	var openapi, operation string
	var schema bool
	command := &cobra.Command{
		Use: "init [-- curl ...]", Short: "Write a description of a request, from OpenAPI or a command line of curl",
		Long: `Write a description of a request to standard output, to be completed by hand: how its effects are
counted, and what else the API has. It is made from an operation of an OpenAPI document, or from a command line of curl:

  simplevalidations idemcheck init -- curl -X POST http://localhost:3000/orders -d '{"reference": "a", "amount": 12}'

Credentials become variables of the environment.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if schema {
				_, err := cmd.OutOrStdout().Write(idemcheck.Schema)
				return err
			}
			draft := func() (string, string, error) { return draftOfCurl(args) }
			if openapi != "" {
				draft = func() (string, string, error) { return draftOfOperation(openapi, operation) }
			}
			text, base, err := draft()
			if err != nil {
				return err
			}
			cmd.Printf("# Check it with: simplevalidations idemcheck %s --request FILE\n%s", base, text)
			return nil
		},
	}
	command.Flags().StringVar(&openapi, "openapi", "", "the OpenAPI document")
	command.Flags().StringVar(&operation, "operation", "", "the operationId in it")
	command.Flags().BoolVar(&schema, "schema", false, "write the JSON Schema of descriptions instead")
	return command
}

// drafted is what a draft knows of a request.
type drafted struct {
	method, path, body, keyHeader string
	headers                       map[string]string
	// answer is where an answer has the id of what was created; nil if that is not known.
	answer   *string
	required bool
}

// draftOfCurl reads the arguments of curl that say what is sent, and ignores the others. It also returns the base URL.
func draftOfCurl(args []string) (string, string, error) {
	flags := pflag.NewFlagSet("curl", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	method := flags.StringP("request", "X", "", "")
	headers := flags.StringArrayP("header", "H", nil, "")
	address := flags.String("url", "", "")
	var parts [4]*[]string
	for i, name := range []string{"data", "data-raw", "data-binary", "json"} {
		parts[i] = flags.StringArrayP(name, map[bool]string{true: "d"}[name == "data"], nil, "")
	}
	if err := flags.Parse(args); err != nil {
		return "", "", cli.Misuse("read the command line of curl: %v", err)
	}
	names := slices.DeleteFunc(flags.Args(), func(word string) bool { return word == "curl" })
	to, err := url.Parse(cmp.Or(append([]string{*address}, names...)...))
	if err != nil || to.Host == "" {
		return "", "", cli.Misuse("give a command line of curl with a URL behind --, or --openapi and --operation")
	}
	d := drafted{method: cmp.Or(*method, http.MethodPost), path: to.RequestURI(), headers: map[string]string{}}
	for i, given := range parts {
		d.body += strings.Join(*given, "&")
		if len(*given) > 0 && i == len(parts)-1 {
			d.headers["Content-Type"] = "application/json"
		}
	}
	for _, header := range *headers {
		name, value, _ := strings.Cut(header, ":")
		if keyHeader.MatchString(name) {
			d.keyHeader = name
			continue
		}
		d.headers[name] = strings.TrimSpace(value)
	}
	return d.text(), to.Scheme + "://" + to.Host, nil
}

// keyHeader matches the names by which APIs call the header of the key.
var keyHeader = regexp.MustCompile(`(?i)idempotency|^paypal-request-id$|^x-unique-transaction-id$`)

// draftOfOperation reads an operation of an OpenAPI document. It also returns the base URL.
func draftOfOperation(file, id string) (string, string, error) {
	loader := openapi3.NewLoader()
	document, err := loader.LoadFromFile(file)
	if err != nil {
		return "", "", cli.Misuse("read %s: %v", file, err)
	}
	var ids []string
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.OperationID != id || id == "" {
				ids = append(ids, operation.OperationID)
				continue
			}
			base := ""
			if len(document.Servers) > 0 {
				base = document.Servers[0].URL
			}
			d, err := draftOf(method, path, append(item.Parameters, operation.Parameters...), operation)
			return d.text(), base, err
		}
	}
	slices.Sort(ids)
	return "", "", cli.Misuse("%s has no operation %q; it has %s", file, id, strings.Join(ids, ", "))
}

func draftOf(method, path string, parameters openapi3.Parameters, operation *openapi3.Operation) (drafted, error) {
	d := drafted{method: method, path: path, headers: map[string]string{}}
	for _, parameter := range parameters {
		switch p := parameter.Value; {
		case p.In == openapi3.ParameterInHeader && keyHeader.MatchString(p.Name):
			d.keyHeader, d.required = p.Name, p.Required
		case p.In == openapi3.ParameterInPath:
			d.path = strings.ReplaceAll(d.path, "{"+p.Name+"}", "${"+variableOf(p.Name)+"}")
		case p.In == openapi3.ParameterInHeader && p.Required:
			d.headers[p.Name] = "${" + variableOf(p.Name) + "}"
		}
	}
	d.headers["Authorization"] = "Bearer ${TOKEN}"
	if created := operation.Responses.Status(http.StatusCreated); created != nil {
		for _, content := range created.Value.Content {
			if content.Schema != nil && content.Schema.Value.Properties["id"] != nil {
				d.answer = new("/id")
			}
		}
	}
	if operation.RequestBody == nil {
		return d, nil
	}
	content := operation.RequestBody.Value.Content
	types := slices.DeleteFunc(slices.Sorted(maps.Keys(content)), func(mediaType string) bool {
		return !strings.Contains(mediaType, "json")
	})
	if len(types) == 0 {
		return d, nil
	}
	body, err := json.Marshal(exampleOf(content[types[0]]))
	if err != nil {
		return d, fmt.Errorf("the example of the request is no JSON: %w", err)
	}
	d.headers["Content-Type"], d.body = types[0], string(body)
	return d, nil
}

// exampleOf is the first example of a body, or one made from its schema.
func exampleOf(content *openapi3.MediaType) any {
	example := content.Example
	for _, name := range slices.Sorted(maps.Keys(content.Examples)) {
		example = cmp.Or(example, content.Examples[name].Value.Value)
	}
	if example == nil && content.Schema != nil {
		example = sample(content.Schema, 0)
	}
	return example
}

// deepest is how deep a sample of a schema goes.
const deepest = 6

// sample is a value that a schema allows, as far as that is easy to say.
func sample(ref *openapi3.SchemaRef, depth int) any {
	s := ref.Value
	switch {
	case s.Example != nil:
		return s.Example
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case depth > deepest:
		return nil
	case s.Type.Is("object") || len(s.Properties) > 0:
		object := make(map[string]any)
		for _, name := range s.Required {
			if s.Properties[name] != nil {
				object[name] = sample(s.Properties[name], depth+1)
			}
		}
		return object
	case s.Type.Is("array"):
		return []any{sample(s.Items, depth+1)}
	case s.Type.Is("integer"), s.Type.Is("number"):
		return 1
	case s.Type.Is("boolean"):
		return true
	default:
		return "text"
	}
}

func variableOf(name string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// text is the draft as YAML, with a word on what is to be completed.
func (d drafted) text() string {
	for name := range d.headers {
		switch strings.ToLower(name) {
		case "authorization", "cookie", "x-api-key":
			if !strings.Contains(d.headers[name], "${") {
				d.headers[name] = "${" + variableOf(name) + "}"
			}
		}
	}
	body, other := withReference(d.body)
	var out strings.Builder
	part := func(comment string, value any) {
		var text bytes.Buffer
		encoder := yaml.NewEncoder(&text)
		encoder.SetIndent(2)
		_ = errors.Join(encoder.Encode(value), encoder.Close()) // A buffer takes everything.
		fmt.Fprintf(&out, "# %s\n%s", comment, text.String())
	}
	part("What is sent. {{ref}} is another text in each case; it must be stored with the effect.", map[string]any{
		"request": map[string]any{"method": d.method, "url": d.path, "headers": d.headers, "body": body},
	})
	part("Say whether the API refuses requests without a key.", map[string]any{
		"key": map[string]any{"header": cmp.Or(d.keyHeader, "Idempotency-Key"), "required": d.required},
	})
	if d.answer != nil {
		part("Better count them: by url, by sql and database, or by a command that prints a number.", map[string]any{
			"effects": map[string]any{"answer": *d.answer},
		})
	} else {
		out.WriteString("# Say how effects are counted, such as by a list:\n" +
			"# effects: {url: \"/orders?reference={{ref}}\"}\n")
	}
	if other != "" {
		part("A request that means something else.", map[string]any{"different": []any{map[string]any{"body": other}}})
	}
	out.WriteString("# More that can be judged: refused, failing, slow, tenant, user, also, hooks and limits.\n")
	return out.String()
}

// withReference puts {{ref}} into a body, and says how another one looks. Both are guesses that people see.
func withReference(body string) (string, string) {
	var members map[string]any
	if json.Unmarshal([]byte(body), &members) != nil {
		return body, ""
	}
	names := slices.Sorted(maps.Keys(members))
	isText := func(name string) bool { _, ok := members[name].(string); return ok }
	at := slices.IndexFunc(names, func(name string) bool {
		return isText(name) && regexp.MustCompile(`(?i)ref|^id$|name|description|note`).MatchString(name)
	})
	if at < 0 {
		at = slices.IndexFunc(names, isText)
	}
	if at < 0 {
		return body, ""
	}
	members[names[at]] = "{{ref}}"
	write := func() string {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(members) //nolint:errchkjson // it came from JSON
		return strings.TrimSpace(text.String())
	}
	first := write()
	for _, name := range names {
		if n, ok := members[name].(float64); ok {
			members[name] = n + 1
			return first, write()
		}
	}
	members[names[at]] = "{{ref}}-other"
	return first, write()
}
