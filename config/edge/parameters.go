package edge

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// KnownParameters refuses a query that repeats a parameter of its operation or has one that the OpenAPI document does
// not list. Ignored, a misspelled filter would answer with everything. The existing client's routes ignore unknown
// parameters, as they always have.
func KnownParameters(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		request := c.Request()
		if request.URL.RawQuery == "" {
			return next(c)
		}
		byRoute, err := documentedParameters()
		if err != nil {
			return err
		}
		method := strings.Replace(request.Method, http.MethodHead, http.MethodGet, 1)
		known, found := byRoute[method+" "+c.Path()]
		if !found {
			return next(c)
		}
		query := c.QueryParams()
		for _, name := range slices.Sorted(maps.Keys(query)) {
			switch isKnown := slices.Contains(known.query, name); {
			case isKnown && len(query[name]) > 1:
				return core.InvalidParameter(name, "is given more than once")
			case !isKnown && !strings.HasPrefix(c.Path(), APIPrefix+"/v1/"):
				return core.InvalidParameter(name, "is not a parameter of this address. "+known.meantBy(name))
			}
		}
		return next(c)
	}
}

// parameters are the names of what an operation takes in its query and its headers.
type parameters struct{ query, header []string }

// meantBy names the parameter that was probably meant, or else all that there are.
func (p parameters) meantBy(name string) string {
	if meant := engine.Nearest(name, p.query); meant != "" {
		return "Did you mean " + meant + "?"
	}
	if meant := engine.Nearest(name, p.header); meant != "" {
		return "Did you mean the header " + meant + "?"
	}
	if len(p.query) == 0 {
		return "It takes none"
	}
	return "It takes " + strings.Join(p.query, ", ")
}

// The OpenAPI document as it is read, and the parameters of each operation by its method and its route. The first
// request that needs them reads the document, which would delay every start otherwise.
//
//nolint:gochecknoglobals // They are constants that take a while to read.
var (
	apiDocument = sync.OnceValues(func() (*docs.Reference, error) {
		return docs.ReadReference(docs.OpenAPI())
	})
	documentedParameters = sync.OnceValues(readParameters)
)

func readParameters() (map[string]parameters, error) {
	document, err := apiDocument()
	if err != nil {
		return nil, err
	}
	byRoute := make(map[string]parameters)
	for _, operation := range document.Operations() {
		var known parameters
		for _, p := range operation.Parameters {
			switch p.In {
			case "query":
				known.query = append(known.query, p.Name)
			case "header":
				known.header = append(known.header, p.Name)
			}
		}
		byRoute[operation.Method+" "+strings.NewReplacer("{", ":", "}", "").Replace(operation.Path)] = known
	}
	return byRoute, nil
}
