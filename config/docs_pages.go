package config

import (
	"bytes"
	"fmt"
	"html/template"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/simplevalidations/simplevalidations/docs"
)

// docsSite is every page of the documentation as HTML, by its address.
type docsSite struct {
	pages map[string][]byte
}

// docsSection is a list of pages of one kind.
type docsSection struct {
	name, Title string
	Pages       []docsPage
}

// docsPage is a page as others link to it.
type docsPage struct {
	Address, Title string
}

// docsView is what the layout shows: a rendered page, or a heading with lists of pages.
type docsView struct {
	Title    string
	Content  template.HTML
	Heading  string
	Sections []docsSection
}

func newDocsSite() (docsSite, error) {
	source, err := docs.Site("page.html")
	if err != nil {
		return docsSite{}, err
	}
	layout, err := template.New("page").Parse(string(source))
	if err != nil {
		return docsSite{}, fmt.Errorf("read the pages' layout: %w", err)
	}
	names, err := docs.Pages()
	if err != nil {
		return docsSite{}, err
	}
	site := docsSite{pages: make(map[string][]byte)}
	sections := []docsSection{
		{name: "guides", Title: "Guides"}, {name: "errors", Title: "Errors"}, {name: "adr", Title: "Decisions"},
	}
	for _, name := range names {
		view, err := renderPage(name)
		if err != nil {
			return docsSite{}, err
		}
		address := "/docs/" + name + "/"
		section, _, _ := strings.Cut(name, "/")
		for i := range sections {
			if sections[i].name == section {
				sections[i].Pages = append(sections[i].Pages, docsPage{Address: address, Title: view.Title})
			}
		}
		if err := site.add(layout, address, view); err != nil {
			return docsSite{}, err
		}
	}
	return site, site.addIndexes(layout, sections)
}

// addIndexes adds the page that lists everything and one for each section.
func (s docsSite) addIndexes(layout *template.Template, sections []docsSection) error {
	all := docsView{Title: "Documentation", Heading: "Documentation", Sections: sections}
	if err := s.add(layout, "/docs/", all); err != nil {
		return err
	}
	for _, section := range sections {
		view := docsView{Title: section.Title, Heading: section.Title}
		view.Sections = []docsSection{{Title: "All pages", Pages: section.Pages}}
		if err := s.add(layout, "/docs/"+section.name+"/", view); err != nil {
			return err
		}
	}
	return nil
}

func (s docsSite) add(layout *template.Template, address string, view docsView) error {
	var page bytes.Buffer
	if err := layout.Execute(&page, view); err != nil {
		return fmt.Errorf("render %s: %w", address, err)
	}
	s.pages[address] = page.Bytes()
	return nil
}

// renderPage turns the Markdown of a page into HTML. Its first heading is its title.
func renderPage(name string) (docsView, error) {
	source, ok := docs.Page(name)
	if !ok {
		return docsView{}, fmt.Errorf("page %s is listed but not there", name)
	}
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)
	document := markdown.Parser().Parse(text.NewReader(source))
	heading, ok := document.FirstChild().(*ast.Heading)
	if !ok || heading.Level != 1 {
		return docsView{}, fmt.Errorf("page %s does not begin with its title", name)
	}
	if err := ast.Walk(document, linkPages("/docs/"+name+".md")); err != nil {
		return docsView{}, fmt.Errorf("link page %s: %w", name, err)
	}
	var content bytes.Buffer
	if err := markdown.Renderer().Render(&content, source, document); err != nil {
		return docsView{}, fmt.Errorf("render page %s: %w", name, err)
	}
	return docsView{
		Title: string(heading.Lines().Value(source)),
		//nolint:gosec // The pages are part of this program, and the renderer leaves raw HTML out.
		Content: template.HTML(content.String()),
	}, nil
}

// linkPages makes relative links, which are right between the files, right between the pages.
func linkPages(from string) ast.Walker {
	return func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := node.(*ast.Link)
		if ok && entering {
			link.Destination = []byte(pageAddress(from, string(link.Destination)))
		}
		return ast.WalkContinue, nil
	}
}

func pageAddress(from, destination string) string {
	if strings.Contains(destination, ":") || strings.IndexAny(destination, "/#") == 0 {
		return destination
	}
	file, fragment, hasFragment := strings.Cut(destination, "#")
	address := path.Join(path.Dir(from), file)
	if page, ok := strings.CutSuffix(address, ".md"); ok {
		address = page + "/"
	}
	if hasFragment {
		address += "#" + fragment
	}
	return address
}
