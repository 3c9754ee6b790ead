package engines

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/schema"
	"github.com/simplevalidations/simplevalidations/validations/engines/table"
)

// Infer proposes the kind and the configuration of a step that checks documents such as this one. It answers false for
// a type of document that no engine knows. The error is a failure to read the document, or what is wrong with it.
func Infer(ctx context.Context, doc Document) (string, engine.Inferred, bool, error) {
	limits := DefaultLimits()
	base := mediatype.Canonical(doc.MediaType)
	ending := strings.ToLower(path.Ext(doc.Filename))
	empty := engine.Inferred{Config: json.RawMessage("{}")}
	switch {
	case ending == ".idf" || ending == ".epjson":
		return KindEnergyPlus, empty, true, nil
	case base == mediatype.CSV || base == mediatype.TSV || base == mediatype.XLSX || base == mediatype.JSONLines ||
		base == mediatype.Parquet:
		inferred, err := table.Infer(ctx, doc, limits)
		return KindTable, inferred, true, err
	case mediatype.IsJSON(base) || base == mediatype.YAML:
		inferred, err := schema.Infer(ctx, doc, limits)
		return KindJSONSchema, inferred, true, err
	case base == mediatype.XML:
		empty.Notes = map[string]string{"": "checks only that it is well-formed; for more, give the text of an XML " +
			"Schema as schema, or the name of its file, and run: simplevalidations workflows bundle"}
		return KindXML, empty, true, nil
	default:
		return "", engine.Inferred{}, false, nil
	}
}
