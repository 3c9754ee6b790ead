package docs

import (
	"errors"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// tab is a block of code that has a name behind its language: ```go Go. Tabs that follow each other are shown in one
// place, of which a reader chooses one.
type tab struct {
	name  string
	block *ast.FencedCodeBlock
}

// gatherTabs turns the tabs of a page into radio buttons and what belongs to them. The style sheet shows the chosen
// one, so no script is needed; without the style sheet all are shown.
func gatherTabs(document ast.Node, source []byte) error {
	for group, node := 1, document.FirstChild(); node != nil; node = node.NextSibling() {
		tabs := tabsFrom(node, source)
		if len(tabs) == 0 {
			continue
		}
		if len(tabs) == 1 {
			return errors.New("tab " + tabs[0].name + " stands alone")
		}
		surround(document, group, tabs)
		group++
		node = tabs[len(tabs)-1].block
	}
	return nil
}

// tabsFrom lists the tabs that begin with a node.
func tabsFrom(node ast.Node, source []byte) []tab {
	var tabs []tab
	for ; node != nil; node = node.NextSibling() {
		block, ok := node.(*ast.FencedCodeBlock)
		if !ok || block.Info == nil {
			return tabs
		}
		_, name, named := strings.Cut(string(block.Info.Segment.Value(source)), " ")
		if !named {
			return tabs
		}
		tabs = append(tabs, tab{name: strings.TrimSpace(name), block: block})
	}
	return tabs
}

// surround puts the buttons before the tabs of a group, the first of which is chosen, and each tab into its frame.
func surround(document ast.Node, group int, tabs []tab) {
	names := make([]string, len(tabs))
	for i, t := range tabs {
		names[i] = t.name
	}
	document.InsertBefore(document, tabs[0].block, markup(tabsHead(group, names)))
	for _, t := range tabs {
		document.InsertBefore(document, t.block,
			markup(`<div class="tab" data-name="`+html.EscapeString(t.name)+"\">\n"))
		document.InsertAfter(document, t.block, markup("</div>\n"))
	}
	document.InsertAfter(document, tabs[len(tabs)-1].block.NextSibling(), markup("</fieldset>\n"))
}

// tabsHead is the buttons of a group of tabs.
func tabsHead(group int, names []string) string {
	var head strings.Builder
	head.WriteString("<fieldset class=\"tabs\">\n<legend class=\"unseen\">Language</legend>\n")
	for i, name := range names {
		checked := ""
		if i == 0 {
			checked = " checked"
		}
		fmt.Fprintf(&head, `<input type="radio" name="tabs-%[1]d" id="tabs-%[1]d-%[2]d"%[3]s>`+
			"<label for=\"tabs-%[1]d-%[2]d\">%[4]s</label>\n", group, i+1, checked, html.EscapeString(name))
	}
	return head.String()
}

// markup is HTML of the layout's own between the nodes of a page.
func markup(text string) *ast.String {
	node := ast.NewString([]byte(text))
	node.SetCode(true)
	return node
}
