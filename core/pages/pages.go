package pages

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

//go:embed templates
var layouts embed.FS

const (
	// Root is the address of the dashboard; nothing outside of it knows sessions.
	Root = "/app/"
	// OrgRoute is the route of an organization's pages inside the dashboard.
	OrgRoute = "/orgs/:org"
	// SignInAddress is where those are sent who have no session.
	SignInAddress = Root + "sign-in/"

	// policy lets a page load nothing but what this server has, and nothing that stands in the page itself.
	policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
)

// Set is the pages of an app by their names.
type Set struct {
	pages map[string]func() (*template.Template, error)
}

// Page is what a view gives to a template: there, Data is .Data.
type Page struct {
	// Title stands before the names of the organization and of the service.
	Title string
	// Section is the entry of the navigation that the page belongs to.
	Section Section
	// Events is the address of the page's event stream; "" for a page that does not change by itself.
	Events string
	// KeepsForm says that Back shows the page as it was, with the idempotency key of its form, which then starts
	// nothing again. It is for pages that show little but a form.
	KeepsForm bool
	Data      any
}

// frame is what the layout shows around a page.
type frame struct {
	Page
	Visitor    Visitor
	Principal  core.Principal
	Navigation []entry
	// Search is where the search box leads to; "" for a visitor without an organization.
	Search string
	// Base is the address of the organization's pages; Root outside of an organization.
	Base string
	// Here is the address of the page itself; Base where a form was answered, which has no address to come back to.
	Here  string
	Theme string
	// Shortcut says that "/" leads to the search box.
	Shortcut  bool
	Notice    string
	RequestID string
}

// Parse finds the pages of an app: each file of the folder is one, named like the file without ".html". It defines the
// template "main". Files whose names begin with "_" are parts that all of the app's pages may use. A page is read when
// it is first shown: a process that starts pays for none, and an organization's visitors see few of them.
func Parse(files fs.FS, folder string) (*Set, error) {
	names, err := fs.Glob(files, path.Join(folder, "*.html"))
	if err != nil {
		return nil, fmt.Errorf("list the pages of %s: %w", folder, err)
	}
	var parts []string
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			parts = append(parts, name)
		}
	}
	set := &Set{pages: make(map[string]func() (*template.Template, error))}
	for _, name := range names {
		if page := path.Base(name); !strings.HasPrefix(page, "_") {
			set.pages[strings.TrimSuffix(page, ".html")] = sync.OnceValues(func() (*template.Template, error) {
				return parsePage(files, append(slices.Clone(parts), name))
			})
		}
	}
	return set, nil
}

// layout is what all pages have in common. It is never executed itself, so that it can be cloned.
//
//nolint:gochecknoglobals // It is made of embedded files once, and does not change.
var layout = sync.OnceValues(func() (*template.Template, error) {
	assets, err := newAssets()
	if err != nil {
		return nil, err
	}
	return template.New("layout").Funcs(functions(assets)).ParseFS(layouts, "templates/*.html")
})

func parsePage(files fs.FS, names []string) (*template.Template, error) {
	base, err := layout()
	if err != nil {
		return nil, err
	}
	page, err := base.Clone()
	if err != nil {
		return nil, err
	}
	return page.ParseFS(files, names...)
}

// Render answers with a page. It is rendered to its end before the first byte is sent, so an error in it is still
// answered as one.
func (s *Set) Render(c echo.Context, status int, name string, page Page) error {
	body, err := s.html(c, name, page)
	if err != nil {
		return err
	}
	secure(c, page)
	return c.HTMLBlob(status, body)
}

func (s *Set) html(c echo.Context, name string, page Page) ([]byte, error) {
	read, ok := s.pages[name]
	if !ok {
		return nil, fmt.Errorf("there is no page %s", name)
	}
	t, err := read()
	if err != nil {
		return nil, fmt.Errorf("read page %s: %w", name, err)
	}
	var body bytes.Buffer
	if err := t.ExecuteTemplate(&body, "layout.html", newFrame(c, page)); err != nil {
		return nil, fmt.Errorf("render page %s: %w", name, err)
	}
	return body.Bytes(), nil
}

// secure sets the header fields that every page has. Browsers do not store what a visitor has seen, so that Back does
// not show it after the end of the session, nor a secret again, such as the one of a link.
func secure(c echo.Context, page Page) {
	header := c.Response().Header()
	header.Set(echo.HeaderContentSecurityPolicy, policy)
	control := "no-store"
	if page.KeepsForm {
		control = "private, no-cache"
	}
	header.Set(echo.HeaderCacheControl, control)
	header.Set(echo.HeaderVary, echo.HeaderCookie)
}

func newFrame(c echo.Context, page Page) frame {
	ctx := c.Request().Context()
	visitor, _ := VisitorFrom(ctx)
	principal, _ := core.PrincipalFrom(ctx)
	base, here := Base(principal.OrgSlug), c.Request().URL.RequestURI()
	if c.Request().Method == http.MethodPost {
		here = base
	}
	search := ""
	if slug := cmp.Or(principal.OrgSlug, visitor.Home); slug != "" {
		search = Base(slug) + "search/"
	}
	return frame{
		Page: page, Visitor: visitor, Principal: principal, Search: search,
		Navigation: navigation(principal, visitor, page.Section), Base: base, Here: here,
		Theme: theme(c), Shortcut: hasShortcut(c), Notice: takeNotice(c), RequestID: core.RequestID(ctx),
	}
}

// Base is the address of an organization's pages; Root for the empty slug.
func Base(orgSlug string) string {
	if orgSlug == "" {
		return Root
	}
	return Root + "orgs/" + url.PathEscape(orgSlug) + "/"
}

// OrgOf returns the slug of the organization to whose pages an address belongs, also where there is no such page; ""
// for addresses that belong to none.
func OrgOf(address string) string {
	rest, inside := strings.CutPrefix(address, Root+"orgs/")
	if !inside {
		return ""
	}
	slug, _, _ := strings.Cut(rest, "/")
	return slug
}
