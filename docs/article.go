package docs

import (
	"bytes"
	"fmt"
	"html/template"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// article is a page that was written, as opposed to one that only lists others.
type article struct {
	link

	content  template.HTML
	headings []heading
	sections []section
}

// heading is a place on a page.
type heading struct {
	Title, ID string
	Level     int
}

// newArticle renders the Markdown of a page. Its first heading is its title.
func newArticle(name string, source []byte) (article, error) {
	markdown := newMarkdown()
	document := markdown.Parser().Parse(text.NewReader(source))
	title, ok := document.FirstChild().(*ast.Heading)
	if !ok || title.Level != 1 {
		return article{}, fmt.Errorf("page %s does not begin with its title", name)
	}
	a := article{link: link{Title: plainText(title, source), Address: addressOf(name)}}
	a.sections = cut(document, source, a.link)
	a.headings = headingsOf(document, source)
	if err := ast.Walk(document, adapt(name)); err != nil {
		return article{}, fmt.Errorf("adapt page %s: %w", name, err)
	}
	if err := gatherTabs(document, source); err != nil {
		return article{}, fmt.Errorf("gather the tabs of page %s: %w", name, err)
	}
	// The layout shows the title itself, above the contents of the page.
	document.RemoveChild(document, title)
	var content bytes.Buffer
	if err := markdown.Renderer().Render(&content, source, document); err != nil {
		return article{}, fmt.Errorf("render page %s: %w", name, err)
	}
	//nolint:gosec // The pages are part of this program, and the renderer leaves raw HTML out.
	a.content = template.HTML(content.String())
	return a, nil
}

//nolint:ireturn // The library has no other type for it.
func newMarkdown() goldmark.Markdown {
	const beforeOthers = 100
	return goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(scrolled{}, beforeOthers))),
	)
}

// headingsOf lists what the contents of a page show: its headings of the second and third level.
func headingsOf(document ast.Node, source []byte) []heading {
	const deepest = 3
	var found []heading
	for node := document.FirstChild(); node != nil; node = node.NextSibling() {
		h, ok := node.(*ast.Heading)
		if ok && h.Level > 1 && h.Level <= deepest {
			found = append(found, heading{Title: plainText(h, source), ID: idOf(h), Level: h.Level})
		}
	}
	return found
}

func idOf(h *ast.Heading) string {
	value, _ := h.AttributeString("id")
	id, _ := value.([]byte)
	return string(id)
}

// adapt makes links between files links between pages, and headings links to themselves, and marks the heads of columns
// for those who hear a table.
func adapt(name string) ast.Walker {
	return func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Link:
			n.Destination = []byte(pageAddress(name, string(n.Destination)))
		case *ast.Heading:
			linkToItself(n)
			return ast.WalkSkipChildren, nil
		case *east.TableCell:
			if n.Parent().Kind() == east.KindTableHeader {
				n.SetAttributeString("scope", []byte("col"))
			}
		}
		return ast.WalkContinue, nil
	}
}

// linkToItself makes the text of a heading the link to it, so that its address can be copied.
func linkToItself(h *ast.Heading) {
	anchor := ast.NewLink()
	anchor.Destination = []byte("#" + idOf(h))
	for child := h.FirstChild(); child != nil; child = h.FirstChild() {
		anchor.AppendChild(anchor, child)
	}
	h.AppendChild(h, anchor)
}

// pageAddress turns a link between files into one between pages: relative ones are right in both.
func pageAddress(from, destination string) string {
	if strings.Contains(destination, ":") || strings.IndexAny(destination, "/#") == 0 {
		return destination
	}
	file, fragment, hasFragment := strings.Cut(destination, "#")
	address := path.Join(root, path.Dir(from), file)
	if page, ok := strings.CutSuffix(address, ".md"); ok {
		address = page + "/"
	}
	if hasFragment {
		address += "#" + fragment
	}
	return address
}
