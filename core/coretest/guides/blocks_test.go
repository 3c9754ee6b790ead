package guides

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// repository is the folder of the whole source.
const repository = "../../.."

// block is a block of code on a page. One of several tabs has a name.
type block struct {
	page, heading  string
	tab            string
	line           int
	language, code string
}

// String names the block as tests are named.
func (b block) String() string { return b.page + ":" + strconv.Itoa(b.line) }

// readBlocks lists the blocks of code of the README and of all pages, in their order.
func readBlocks(tb testing.TB) []block {
	tb.Helper()
	blocks := blocksOf(tb, "README.md")
	err := fs.WalkDir(os.DirFS(repository), "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			blocks = append(blocks, blocksOf(tb, name)...)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return blocks
}

func blocksOf(tb testing.TB, page string) []block {
	tb.Helper()
	source, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(page)))
	if err != nil {
		tb.Fatal(err)
	}
	var blocks []block
	var heading string
	document := goldmark.New().Parser().Parse(text.NewReader(source))
	for node := document.FirstChild(); node != nil; node = node.NextSibling() {
		switch n := node.(type) {
		case *ast.Heading:
			heading = string(n.Lines().Value(source))
		case *ast.FencedCodeBlock:
			b := block{page: page, heading: heading, language: string(n.Language(source))}
			if n.Info != nil {
				_, b.tab, _ = strings.Cut(string(n.Info.Segment.Value(source)), " ")
			}
			if n.Lines().Len() > 0 {
				b.line = 1 + bytes.Count(source[:n.Lines().At(0).Start], []byte("\n"))
			}
			b.code = string(n.Lines().Value(source))
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// ofLanguage picks the blocks of one language.
func ofLanguage(blocks []block, language string) []block {
	var picked []block
	for _, b := range blocks {
		if b.language == language {
			picked = append(picked, b)
		}
	}
	return picked
}

// pagesOf groups blocks by their page.
func pagesOf(blocks []block) map[string][]block {
	pages := make(map[string][]block)
	for _, b := range blocks {
		name := strings.TrimSuffix(path.Base(b.page), ".md")
		pages[name] = append(pages[name], b)
	}
	return pages
}
