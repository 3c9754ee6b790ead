package docs

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// section is a page's text from one heading to the next, which is what a search finds.
type section struct {
	Page    string
	Heading string
	// Kind says what the page is besides a guide, like "API".
	Kind    string
	Address string
	text    string
}

// cut divides a page at its headings. What stands before the first one belongs to the page itself.
func cut(document ast.Node, source []byte, page link) []section {
	current := section{Page: page.Title, Address: page.Address}
	var done []section
	var text strings.Builder
	finish := func() {
		current.text = strings.Join(strings.Fields(text.String()), " ")
		done = append(done, current)
		text.Reset()
	}
	for node := document.FirstChild().NextSibling(); node != nil; node = node.NextSibling() {
		h, ok := node.(*ast.Heading)
		if !ok {
			appendText(&text, node, source)
			continue
		}
		finish()
		current = section{
			Page: page.Title, Heading: plainText(h, source), Address: page.Address + "#" + idOf(h),
		}
	}
	finish()
	return done
}

// plainText is what a reader sees of a node, without its form.
func plainText(node ast.Node, source []byte) string {
	var text strings.Builder
	appendText(&text, node, source)
	return strings.Join(strings.Fields(text.String()), " ")
}

func appendText(to *strings.Builder, node ast.Node, source []byte) {
	switch n := node.(type) {
	case *ast.Text:
		to.Write(n.Segment.Value(source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			to.WriteByte(' ')
		}
	case *ast.String:
		to.Write(n.Value)
	case *ast.FencedCodeBlock:
		to.Write(n.Lines().Value(source))
	case *east.TableCell, *ast.Paragraph, *ast.TextBlock:
		appendChildren(to, node, source)
		to.WriteByte(' ')
		return
	}
	appendChildren(to, node, source)
}

func appendChildren(to *strings.Builder, node ast.Node, source []byte) {
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		appendText(to, child, source)
	}
}
