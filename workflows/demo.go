package workflows

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// DemoDrafts are the workflows of the demonstration. Their steps are made from samples, and have the same ids in every
// database, so that guides and tests can name them.
func DemoDrafts() ([]Draft, error) {
	var missing error
	step := func(seed, name, kind, sample string) validations.Step {
		config, err := docs.Sample(sample)
		missing = errors.Join(missing, err)
		id := uuid.NewSHA1(uuid.NameSpaceURL, []byte("demo/"+seed)).String()
		return validations.Step{ID: id, Name: name, Type: kind, Config: config}
	}
	const schema = "schemas/building.schema-step.json"
	building := step("building", "Schema", engines.KindJSONSchema, schema)
	building.ContinueOnFailure = true
	drafts := []Draft{
		{
			Slug: "building", Name: "Building description", IsActive: true,
			Description: "Checks a building's description against a JSON Schema, then by rules.",
			Definition: validations.Definition{
				Accepts: []string{mediatype.JSON, mediatype.YAML},
				Steps: []validations.Step{
					building, step("building/rules", "Rules", engines.KindRules, "schemas/building.rules-step.json"),
				},
			},
		},
		{
			Slug: "meter-readings", Name: "Meter readings", IsActive: true,
			Description: "Checks a table of meter readings: types, ranges, duplicates and estimated shares.",
			Definition: validations.Definition{
				Accepts: []string{mediatype.CSV, mediatype.TSV, mediatype.Text},
				Steps: []validations.Step{
					step("meter-readings", "Table", engines.KindTable, "schemas/meter-readings.table-step.json"),
				},
			},
		},
		{
			Slug: "legacy-import", Name: "Legacy import",
			Description: "An inactive workflow: it starts no new runs.",
			Definition: validations.Definition{
				Accepts: []string{mediatype.JSON},
				Steps:   []validations.Step{step("legacy-import", "Schema", engines.KindJSONSchema, schema)},
			},
		},
	}
	if missing != nil {
		return nil, fmt.Errorf("read a sample: %w", missing)
	}
	return drafts, nil
}
