package docs

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
)

//go:embed site
var siteFiles embed.FS

// root is the address of the first page. SearchAddress is where the search form leads, with the words as "q".
const (
	root          = "/docs/"
	SearchAddress = root + "search/"
)

// Site is the documentation as HTML: pages with navigation, contents and links that work, and a search over all of
// them. Everything is HTML and one style sheet, without other servers. The server of the pages decides about addresses
// and headers.
type Site struct {
	pages    map[string][]byte
	chapters []chapter
	api      *apiReference
	index    index
	search   *template.Template
}

// SiteFile returns a file of the layout by its name, like "docs.css".
func SiteFile(name string) ([]byte, error) {
	text, err := siteFiles.ReadFile("site/" + name)
	if err != nil {
		return nil, fmt.Errorf("read layout: %w", err)
	}
	return text, nil
}

// SiteAddresses lists the address of every page without rendering any.
func SiteAddresses() ([]string, error) {
	names, err := Pages()
	if err != nil {
		return nil, fmt.Errorf("list the pages: %w", err)
	}
	addresses := []string{root}
	for _, name := range names {
		addresses = append(addresses, addressOf(name))
	}
	for folder := range folders {
		addresses = append(addresses, addressOf(folder))
	}
	return addresses, nil
}

// NewSite renders all pages at once. A page that cannot be shown is an error.
func NewSite() (*Site, error) {
	templates, err := parseTemplates("page", "home", "list", "search", "overview", "operation")
	if err != nil {
		return nil, err
	}
	articles, chapters, err := readArticles()
	if err != nil {
		return nil, err
	}
	api, err := newReference()
	if err != nil {
		return nil, err
	}
	site := &Site{
		pages: make(map[string][]byte), chapters: chapters, api: api, search: templates["search"],
	}
	for i, a := range articles {
		view := site.view(a)
		view.Previous, view.Next = neighbours(articles, i)
		if err := site.add(templates["page"], view); err != nil {
			return nil, err
		}
	}
	if err := site.addHome(templates["home"]); err != nil {
		return nil, err
	}
	if err := site.addFolders(templates["list"]); err != nil {
		return nil, err
	}
	if err := site.addReference(templates["overview"], templates["operation"]); err != nil {
		return nil, err
	}
	site.index = newIndex(articles, api.sections())
	return site, nil
}

// Pages returns every page by its address.
func (s *Site) Pages() map[string][]byte {
	return s.pages
}

// Search renders the page with what is found for the words of a query.
func (s *Site) Search(query string) ([]byte, error) {
	return render(s.search, pageView{
		Title: "Search", Address: SearchAddress, Chapters: s.navigation(SearchAddress),
		Query: query, Found: s.index.find(query),
	})
}

// addHome adds the page that everybody sees first.
func (s *Site) addHome(layout *template.Template) error {
	source, ok := Page("index")
	if !ok {
		return errors.New("page index is not there")
	}
	home, err := newArticle("index", source)
	if err != nil {
		return err
	}
	home.Address = root
	return s.add(layout, s.view(home))
}

// addFolders adds a page for each folder, for readers who shorten the address of a page.
func (s *Site) addFolders(layout *template.Template) error {
	for folder, title := range folders {
		address := addressOf(folder)
		view := pageView{
			Title: title, Address: address, Chapters: s.navigation(address), Listed: s.inFolder(address),
		}
		if err := s.add(layout, view); err != nil {
			return err
		}
	}
	return nil
}

func addressOf(name string) string { return root + name + "/" }

// folders are the titles of the folders that pages are in.
var folders = map[string]string{"guides": "Guides", "errors": "Errors", "adr": "Decisions"}

func (s *Site) add(layout *template.Template, view pageView) error {
	page, err := render(layout, view)
	if err != nil {
		return fmt.Errorf("render %s: %w", view.Address, err)
	}
	s.pages[view.Address] = page
	return nil
}

func render(layout *template.Template, view pageView) ([]byte, error) {
	var page bytes.Buffer
	if err := layout.Execute(&page, view); err != nil {
		return nil, fmt.Errorf("fill the layout: %w", err)
	}
	return page.Bytes(), nil
}

// parseTemplates puts each kind of page into the layout that all have.
func parseTemplates(kinds ...string) (map[string]*template.Template, error) {
	parsed := make(map[string]*template.Template)
	for _, kind := range kinds {
		t, err := template.New("layout.html").Funcs(referenceFuncs()).
			ParseFS(siteFiles, "site/layout.html", "site/"+kind+".html")
		if err != nil {
			return nil, fmt.Errorf("read the layout: %w", err)
		}
		parsed[kind] = t
	}
	return parsed, nil
}

// readArticles reads all pages in the order of the table of contents.
func readArticles() ([]article, []chapter, error) {
	parts, err := contents()
	if err != nil {
		return nil, nil, fmt.Errorf("read the contents: %w", err)
	}
	var articles []article
	chapters := make([]chapter, len(parts))
	for i, part := range parts {
		chapters[i].Title = part.title
		if part.folded {
			chapters[i].folder = root + part.folder
		}
		for _, name := range part.pages {
			source, ok := Page(name)
			if !ok {
				return nil, nil, fmt.Errorf("page %s is listed but not there", name)
			}
			a, err := newArticle(name, source)
			if err != nil {
				return nil, nil, err
			}
			articles = append(articles, a)
			chapters[i].Pages = append(chapters[i].Pages, a.link)
		}
	}
	return articles, chapters, nil
}
