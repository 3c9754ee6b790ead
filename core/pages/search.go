package pages

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// Finder finds what an app has by the text that people paste: an id, a key or a name.
type Finder interface {
	// Search finds things of the principal's organization that the principal may see. The text is the whole id, key or
	// name, so an index leads to it.
	Search(ctx context.Context, principal core.Principal, text string) ([]Found, error)
}

// Found is a thing that a search has found.
type Found struct {
	// Kind is what it is, like "run".
	Kind    string
	Title   string
	Address string
	At      time.Time
}

// Search is the page that finds what any of the apps has.
type Search struct {
	finders []Finder
	check   *core.Validator
	pages   *Set
}

// NewSearch makes the page of the finders.
func NewSearch(check *core.Validator, finders ...Finder) (*Search, error) {
	set, err := Parse(layouts, "templates/search")
	if err != nil {
		return nil, err
	}
	return &Search{finders: finders, check: check, pages: set}, nil
}

// Pages adds the page to the dashboard.
func (s *Search) Pages(web *echo.Group) {
	web.GET(OrgRoute+"/search/", core.As(api.RoleViewer, "search", s.page))
}

type searchQuery struct {
	Text string `query:"q" validate:"max=300,excludesrune=\x00"`
}

// searchPage is what a text has found.
type searchPage struct {
	Text  string
	Found []Found
}

// page is GET /app/orgs/{org}/search/. What is found alone is shown at once.
func (s *Search) page(c echo.Context, principal core.Principal) error {
	var query searchQuery
	if err := core.BindQuery(c, s.check, &query); err != nil {
		return err
	}
	// A key may have been copied from a header with the quotation marks of RFC 8941, which are not part of it.
	data := searchPage{Text: strings.Trim(strings.TrimSpace(query.Text), `"`)}
	if data.Text != "" {
		found, err := s.find(c.Request().Context(), principal, data.Text)
		if err != nil {
			return err
		}
		data.Found = found
	}
	if len(data.Found) == 1 {
		return Redirect(c, data.Found[0].Address, "")
	}
	return s.pages.Render(c, http.StatusOK, "search", Page{Title: "Search", Data: data})
}

func (s *Search) find(ctx context.Context, principal core.Principal, text string) ([]Found, error) {
	var all []Found
	for _, finder := range s.finders {
		found, err := finder.Search(ctx, principal, text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
