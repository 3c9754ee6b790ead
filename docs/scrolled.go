package docs

import (
	"fmt"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// scrolled renders what may be wider than a screen, so that it scrolls by itself and can be reached by keyboard.
type scrolled struct{}

// RegisterFuncs says what is rendered here.
func (s scrolled) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindFencedCodeBlock, s.renderCode)
	register.Register(east.KindTable, s.renderTable)
	register.Register(ast.KindImage, s.renderDiagram)
}

func (scrolled) renderCode(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block, ok := node.(*ast.FencedCodeBlock)
	if !ok {
		return ast.WalkStop, fmt.Errorf("%T is not a block of code", node)
	}
	language := string(util.EscapeHTML(block.Language(source)))
	code := string(util.EscapeHTML(block.Lines().Value(source)))
	if language == "console" {
		code = markPrompts(code)
	}
	err := write(w, codeBegins, language, `">`, code, codeEnds)
	return ast.WalkSkipChildren, err
}

// codeBegins and codeEnds are around every block of code. The script puts a button for copying into the frame.
const (
	codeBegins = `<div class="code"><pre tabindex="0"><code class="language-`
	codeEnds   = "</code></pre></div>\n"
)

// markPrompts keeps the prompts of a session out of what is copied from it.
func markPrompts(code string) string {
	const prompt = `<span class="prompt">$ </span>`
	code = strings.ReplaceAll("\n"+code, "\n$ ", "\n"+prompt)
	return strings.TrimPrefix(strings.ReplaceAll(code, "\n&gt; ", "\n"+`<span class="prompt">&gt; </span>`), "\n")
}

func (scrolled) renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		// Groups may have the same name as others on the page, which regions may not.
		const begin = `<div class="wide" role="group" aria-label="Table" tabindex="0">` + "\n<table>\n"
		return ast.WalkContinue, write(w, begin)
	}
	// The table of the extension ends its body itself, in its last row.
	return ast.WalkContinue, write(w, "</table>\n</div>\n")
}

// renderDiagram puts the drawing itself into the page, so that it has the page's colors.
func (scrolled) renderDiagram(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	image, ok := node.(*ast.Image)
	if !ok {
		return ast.WalkStop, fmt.Errorf("%T is not an image", node)
	}
	drawing, err := Diagram(path.Base(string(image.Destination)))
	if err != nil {
		return ast.WalkStop, fmt.Errorf("show a diagram: %w", err)
	}
	const begin = `<span class="diagram" role="group" aria-label="Diagram" tabindex="0">` + "\n"
	return ast.WalkSkipChildren, write(w, begin, string(drawing), "</span>")
}

func write(w util.BufWriter, parts ...string) error {
	for _, part := range parts {
		if _, err := w.WriteString(part); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}
