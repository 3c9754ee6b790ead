package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/pages"
	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

const (
	// docsPolicy lets a page load nothing but what this server has.
	docsPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

	yamlType = "application/yaml"
	htmlType = "text/html; charset=utf-8"
)

// RegisterDocs adds the pages, the samples, the OpenAPI document and its reference. The first request for one renders
// them all, which would otherwise take most of every process's start.
func RegisterDocs(e *echo.Echo) error {
	if err := registerPages(e); err != nil {
		return err
	}
	samples, err := docs.Samples()
	if err != nil {
		return err
	}
	e.GET("/docs/samples/*", serveSample(samples))
	e.GET("/", func(c echo.Context) error { return c.Redirect(http.StatusSeeOther, pages.Root) })
	e.GET(files.SchemaPath, serveStatic("application/schema+json", docs.WorkflowFileSchema()))
	registerSchema(e)
	return nil
}

func registerPages(e *echo.Echo) error {
	addresses, err := docs.SiteAddresses()
	if err != nil {
		return fmt.Errorf("read the documentation: %w", err)
	}
	render := sync.OnceValues(docs.NewSite)
	for _, address := range addresses {
		e.GET(address, servePage(render, func(guides *docs.Site, _ echo.Context) ([]byte, error) {
			return guides.Pages()[address], nil
		}))
	}
	e.GET(docs.SearchAddress, servePage(render, func(guides *docs.Site, c echo.Context) ([]byte, error) {
		return guides.Search(c.QueryParam("q"))
	}))
	// The addresses of the reference stand in the OpenAPI document, which is not read before the first request.
	reference := servePage(render, func(guides *docs.Site, c echo.Context) ([]byte, error) {
		page, found := guides.Reference(c.Request().URL.Path)
		if !found {
			return nil, core.NewError(api.CodeNotFound, "The API reference has no such page.")
		}
		return page, nil
	})
	e.GET(docs.ReferenceRoot, reference)
	e.GET(docs.ReferenceRoot+":operation/", reference)
	return registerFiles(e, map[string]string{
		"/docs/docs.css":      "text/css; charset=utf-8",
		"/docs/docs.js":       "text/javascript; charset=utf-8",
		"/docs/reference.css": "text/css; charset=utf-8",
		"/docs/icon.svg":      "image/svg+xml",
	})
}

// servePage answers with a page of the rendered documentation.
func servePage(
	render func() (*docs.Site, error), choose func(*docs.Site, echo.Context) ([]byte, error),
) echo.HandlerFunc {
	return func(c echo.Context) error {
		guides, err := render()
		if err != nil {
			return fmt.Errorf("render the documentation: %w", err)
		}
		page, err := choose(guides, c)
		if err != nil {
			return fmt.Errorf("find a page of the documentation: %w", err)
		}
		return serveStatic(htmlType, page)(c)
	}
}

// registerFiles adds files of the layout, each at the address that ends in its name, with their media types.
func registerFiles(e *echo.Echo, mediaTypes map[string]string) error {
	for address, mediaType := range mediaTypes {
		body, err := docs.SiteFile(lastSegment(address))
		if err != nil {
			return err
		}
		e.GET(address, serveStatic(mediaType, body))
	}
	return nil
}

// registerSchema serves the OpenAPI document as it is written, or as JSON where the client asks for it.
func registerSchema(e *echo.Echo) {
	convert := sync.OnceValues(openAPIAsJSON)
	e.GET("/api/schema/", func(c echo.Context) error {
		c.Response().Header().Add(echo.HeaderVary, echo.HeaderAccept)
		accept := c.Request().Header.Get(echo.HeaderAccept)
		if !strings.Contains(accept, echo.MIMEApplicationJSON) || strings.Contains(accept, yamlType) {
			return serveStatic(yamlType, docs.OpenAPI())(c)
		}
		asJSON, err := convert()
		if err != nil {
			return err
		}
		return serveStatic(echo.MIMEApplicationJSON, asJSON)(c)
	})
}

func openAPIAsJSON() ([]byte, error) {
	var document any
	if err := yaml.Unmarshal(docs.OpenAPI(), &document); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	asJSON, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("turn the OpenAPI document into JSON: %w", err)
	}
	return asJSON, nil
}

// serveStatic answers with the same bytes each time. Clients may cache them, but revalidate them each time,
// so that no page outlives an upgrade.
func serveStatic(mediaType string, body []byte) echo.HandlerFunc {
	tag := core.ETag(body)
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set(echo.HeaderContentSecurityPolicy, docsPolicy)
		header.Set(echo.HeaderXContentTypeOptions, "nosniff")
		header.Set(echo.HeaderCacheControl, "no-cache")
		if core.NotModified(c, tag) {
			return c.NoContent(http.StatusNotModified)
		}
		return c.Blob(http.StatusOK, mediaType, body)
	}
}

func serveSample(samples fs.FS) echo.HandlerFunc {
	return func(c echo.Context) error {
		name := c.Param("*")
		body, err := fs.ReadFile(samples, name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			return core.NewError(api.CodeNotFound, "There is no such sample.")
		}
		if err != nil {
			return fmt.Errorf("read sample %s: %w", name, err)
		}
		return serveStatic(sampleType(name), body)(c)
	}
}

// sampleType is the media type of a sample by its name.
func sampleType(name string) string {
	switch path.Ext(name) {
	case ".json", ".epJSON":
		return echo.MIMEApplicationJSON
	case ".xml", ".xsd":
		return echo.MIMEApplicationXML
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".yaml":
		return yamlType
	default:
		return echo.MIMETextPlainCharsetUTF8
	}
}
