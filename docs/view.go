package docs

import (
	"html/template"
	"slices"
	"strings"
)

// pageView is what the layout shows.
type pageView struct {
	Title, Address string
	Chapters       []chapter
	Headings       []heading
	Content        template.HTML
	Previous, Next *link
	Listed         []chapter
	Query          string
	Found          findings
	// Reference is set for the pages that are made of the OpenAPI document, which show Data.
	Reference bool
	Data      any
}

// chapter is a part of the navigation.
type chapter struct {
	Title string
	Pages []link
	// folder is the address that stands for a long chapter.
	folder string
}

// link leads to a page.
type link struct {
	Title, Address string
	Current        bool
}

func (s *Site) view(a article) pageView {
	return pageView{
		Title: a.Title, Address: a.Address, Chapters: s.navigation(a.Address), Headings: a.headings, Content: a.content,
	}
}

// navigation is the table of contents as the reader of a page sees it: a long chapter is open only on its own pages.
func (s *Site) navigation(address string) []chapter {
	shown := make([]chapter, len(s.chapters))
	for i, c := range s.chapters {
		shown[i] = chapter{Title: c.Title, Pages: slices.Clone(c.Pages)}
		if c.folder != "" && !strings.HasPrefix(address, c.folder) {
			shown[i].Pages = []link{{Title: "All " + strings.ToLower(c.Title), Address: c.folder}}
		}
		for j := range shown[i].Pages {
			shown[i].Pages[j].Current = shown[i].Pages[j].Address == address
		}
	}
	// The reference follows what newcomers read first.
	return slices.Insert(shown, min(1, len(shown)), s.api.chapters(address)...)
}

// inFolder returns the chapters with those pages that are in a folder.
func (s *Site) inFolder(address string) []chapter {
	var found []chapter
	for _, c := range s.chapters {
		pages := slices.DeleteFunc(slices.Clone(c.Pages), func(l link) bool {
			return !strings.HasPrefix(l.Address, address)
		})
		if len(pages) > 0 {
			found = append(found, chapter{Title: c.Title, Pages: pages})
		}
	}
	return found
}

// neighbours are the pages before and behind one in its chapter and the chapters around it.
func neighbours(articles []article, i int) (*link, *link) {
	var previous, next *link
	if i > 0 {
		previous = &articles[i-1].link
	}
	if i+1 < len(articles) {
		next = &articles[i+1].link
	}
	return previous, next
}
