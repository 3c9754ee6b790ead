package edge

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
	"go.yaml.in/yaml/v4"

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

// documentedParameters returns the parameters of each operation of the API by its method and its route. The first query
// of a process reads the document, which would delay every start otherwise.
//
//nolint:gochecknoglobals // It is a constant that takes a while to read.
var documentedParameters = sync.OnceValues(readParameters)

func readParameters() (map[string]parameters, error) {
	type parameter struct {
		Ref      string `yaml:"$ref"`
		Name, In string
	}
	var document struct {
		Paths      map[string]map[string]struct{ Parameters []parameter }
		Components struct{ Parameters map[string]parameter }
	}
	if err := yaml.Unmarshal(docs.OpenAPI(), &document); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	byRoute := make(map[string]parameters)
	for address, operations := range document.Paths {
		route := strings.NewReplacer("{", ":", "}", "").Replace(address)
		for method, operation := range operations {
			var known parameters
			for _, p := range operation.Parameters {
				if shared, found := strings.CutPrefix(p.Ref, "#/components/parameters/"); found {
					p = document.Components.Parameters[shared]
				}
				switch p.In {
				case "query":
					known.query = append(known.query, p.Name)
				case "header":
					known.header = append(known.header, p.Name)
				}
			}
			byRoute[strings.ToUpper(method)+" "+route] = known
		}
	}
	return byRoute, nil
}
