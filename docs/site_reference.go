package docs

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
)

// ReferenceRoot is the address of the reference; each operation has a page below it.
const ReferenceRoot = "/api/docs/"

// TrialRoot is the address on the dashboard below which members try operations.
const TrialRoot = "/app/try/"

// apiReference is the pages that are made of the OpenAPI document.
type apiReference struct {
	document *Reference
	pages    map[string][]byte
}

// fieldGroup is the parameters that are in the same part of a request.
type fieldGroup struct {
	Title  string
	Fields []fieldView
}

type fieldView struct {
	Field

	ID, Example string
	// Demanded says that a request without the value is refused. That an answer has it goes without saying.
	Demanded bool
	// Listed are the values, unless the text explains them.
	Listed []string
}

type exampleView struct {
	Title, Language, Text string
	Fields                []FormField
}

// referenceFuncs are what the templates of the reference call.
func referenceFuncs() template.FuncMap {
	return template.FuncMap{
		"markdown": renderText, "anchor": anchorOf, "programs": programsOf, "examples": examplesOf,
		"fields": fieldViews, "groups": parameterGroups, "headers": headerViews, "refusals": refusals,
		"trial": func(o *Operation) string { return TrialRoot + o.Slug + "/" },
	}
}

// Reference returns a page of the reference by its address.
func (s *Site) Reference(address string) ([]byte, bool) {
	page, found := s.api.pages[address]
	return page, found
}

// ReferenceAddresses lists the addresses of the reference's pages, the first page before all others.
func (s *Site) ReferenceAddresses() []string {
	addresses := []string{ReferenceRoot}
	for _, operation := range s.api.document.Operations() {
		addresses = append(addresses, operationAddress(operation))
	}
	return addresses
}

func operationAddress(o *Operation) string { return ReferenceRoot + o.Slug + "/" }

// referenceTitle is that of the first page of the reference, and of its chapter where it is folded.
const referenceTitle = "API reference"

// newReference reads the document. Its pages are rendered when the navigation is known.
func newReference() (*apiReference, error) {
	document, err := ReadReference(OpenAPI())
	if err != nil {
		return nil, err
	}
	return &apiReference{document: document, pages: make(map[string][]byte)}, nil
}

// chapters are those of the navigation: one for each tag, which only the reference's own pages show.
func (a *apiReference) chapters(address string) []chapter {
	overview := link{Title: "Overview", Address: ReferenceRoot, Current: address == ReferenceRoot}
	if !strings.HasPrefix(address, ReferenceRoot) {
		overview.Title = "All operations"
		return []chapter{{Title: referenceTitle, Pages: []link{overview}}}
	}
	chapters := []chapter{{Title: referenceTitle, Pages: []link{overview}}}
	for _, tag := range a.document.Tags {
		part := chapter{Title: "API: " + tag.Name}
		for _, operation := range tag.Operations {
			to := operationAddress(operation)
			part.Pages = append(part.Pages, link{Title: operation.Summary, Address: to, Current: to == address})
		}
		chapters = append(chapters, part)
	}
	return chapters
}

// addReference renders the pages of the reference.
func (s *Site) addReference(overview, page *template.Template) error {
	view := s.referenceView(referenceTitle, ReferenceRoot)
	view.Data = s.api.document
	if err := s.addReferencePage(overview, view); err != nil {
		return err
	}
	all := s.api.document.Operations()
	for i, operation := range all {
		view := s.referenceView(operation.Summary, operationAddress(operation))
		view.Data = operation
		view.Previous, view.Next = operationLink(all, i-1), operationLink(all, i+1)
		if err := s.addReferencePage(page, view); err != nil {
			return err
		}
	}
	return nil
}

func (s *Site) addReferencePage(layout *template.Template, view pageView) error {
	page, err := render(layout, view)
	if err != nil {
		return fmt.Errorf("render %s: %w", view.Address, err)
	}
	s.api.pages[view.Address] = page
	return nil
}

func (s *Site) referenceView(title, address string) pageView {
	return pageView{Title: title, Address: address, Chapters: s.navigation(address), Reference: true}
}

func operationLink(all []*Operation, i int) *link {
	if i < 0 || i >= len(all) {
		return nil
	}
	return &link{Title: all[i].Summary, Address: operationAddress(all[i])}
}

// anchorOf makes the place of a tag on the first page.
func anchorOf(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// renderText renders a text of the document, which is in Markdown.
func renderText(markdown string) (template.HTML, error) {
	var text bytes.Buffer
	if err := newMarkdown().Convert([]byte(markdown), &text); err != nil {
		return "", fmt.Errorf("render a text of the OpenAPI document: %w", err)
	}
	//nolint:gosec // The document is part of this program, and the renderer leaves raw HTML out.
	return template.HTML(text.String()), nil
}

// parameterGroups divides the parameters of an operation by the part of the request that they are in.
func parameterGroups(o *Operation) []fieldGroup {
	var groups []fieldGroup
	for _, part := range []struct{ in, title string }{
		{"path", "Path"}, {"query", "Query"}, {"header", "Headers"},
	} {
		group := fieldGroup{Title: part.title}
		for _, p := range o.Parameters {
			if p.In == part.in {
				group.Fields = append(group.Fields, parameterView("request-"+part.in, p))
			}
		}
		if len(group.Fields) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// refusals are the answers to requests that have not succeeded.
func refusals(answers []Answer) []Answer {
	return slices.DeleteFunc(slices.Clone(answers), Answer.OK)
}

// headerViews are the headers of an answer.
func headerViews(answer Answer) []fieldView {
	views := make([]fieldView, len(answer.Headers))
	for i, header := range answer.Headers {
		views[i] = parameterView("answer-"+answer.Status+"-header", header)
	}
	return views
}

func parameterView(inside string, p Parameter) fieldView {
	view := newFieldView(inside, p.Field)
	// An example of what has to be another one each time is not worth copying.
	if p.Name != "Idempotency-Key" && p.Name != "Request-Id" {
		view.Example = p.Example
	}
	return view
}

// fieldViews are the members of a body or of another member, whose place the id of each begins with.
func fieldViews(inside string, fields []Field) []fieldView {
	views := make([]fieldView, len(fields))
	for i, field := range fields {
		views[i] = newFieldView(inside, field)
	}
	return views
}

func newFieldView(inside string, field Field) fieldView {
	view := fieldView{
		Field: field, ID: inside + "-" + strings.ToLower(field.Name),
		Demanded: field.Required && !strings.HasPrefix(inside, "answer-"),
	}
	explained := func(value string) bool { return strings.Contains(field.Description, "`"+value+"`") }
	if !slices.ContainsFunc(field.Values, explained) {
		view.Listed = field.Values
	}
	return view
}

// programsOf renders the programs that call an operation, as tabs.
func programsOf(o *Operation) (template.HTML, error) {
	programs, err := o.Programs()
	names := make([]string, len(programs))
	var tabs strings.Builder
	for i, program := range programs {
		names[i] = program.Name
		fmt.Fprintf(&tabs, "<div class=\"tab\" data-name=\"%s\">\n%s%s\">%s%s</div>\n", program.Name, codeBegins,
			program.Language, template.HTMLEscapeString(program.Code), codeEnds)
	}
	//nolint:gosec // The code is escaped, and all else is written here.
	return template.HTML(tabsHead(1, names) + tabs.String() + "</fieldset>\n"), err
}

// maxExampleLines is how much of a long example is shown.
const maxExampleLines = 60

// examplesOf are the examples of a body that is sent, or that is got with a status.
func examplesOf(what string, body Body) []exampleView {
	var shown []exampleView
	for _, example := range body.Examples {
		title := what + ", " + body.MediaType
		if example.Summary != "" {
			title += ": " + example.Summary
		}
		view := exampleView{Title: title, Language: "text", Text: shortened(example.Text)}
		if strings.HasSuffix(body.MediaType, "json") {
			view.Language = "json"
		}
		for _, field := range example.Fields {
			field.Value = shortened(field.Value)
			view.Fields = append(view.Fields, field)
		}
		shown = append(shown, view)
	}
	return shown
}

// shortened leaves out the middle of a long table and the end of all else that is long.
func shortened(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) <= maxExampleLines && !strings.HasPrefix(text, "meter_id,") {
		return strings.Join(lines, "\n")
	}
	const head, tail = 5, 1
	if strings.HasPrefix(text, "meter_id,") && len(lines) > head+tail+1 {
		left := strconv.Itoa(len(lines) - head - tail)
		lines = slices.Concat(lines[:head], []string{"… " + left + " more lines …"}, lines[len(lines)-tail:])
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines[:min(len(lines), maxExampleLines)], "\n") + "\n…"
}

// sections are what a search finds of the reference: each operation with its parameters and members.
func (a *apiReference) sections() []section {
	found := make([]section, 0, len(a.document.Operations()))
	for _, o := range a.document.Operations() {
		words := []string{o.Method, o.Path, o.ID, o.Description}
		for _, p := range o.Parameters {
			words = append(words, p.Name)
		}
		for _, body := range o.Bodies {
			words = append(words, wordsOf(body.Fields)...)
		}
		text := strings.Join(strings.Fields(strings.Join(words, " ")), " ")
		found = append(found, section{Page: o.Summary, Kind: "API", Address: operationAddress(o), text: text})
	}
	return found
}

func wordsOf(fields []Field) []string {
	var words []string
	for _, f := range fields {
		words = append(words, f.Name)
		words = append(words, wordsOf(f.Fields)...)
	}
	return words
}
