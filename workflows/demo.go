package workflows

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/validations"
)

// demoStep is one workflow of the demonstration, made from a sample configuration.
type demoStep struct {
	slug, name, description string
	active                  bool
	accepts                 []string
	stepName, kind, sample  string
}

func demoSteps() []demoStep {
	return []demoStep{
		{
			slug: "building", name: "Building description", active: true,
			description: "Checks a building's description against a JSON Schema.",
			accepts:     []string{"application/json", "application/yaml"},
			stepName:    "Schema", kind: "json_schema", sample: "schemas/building.schema-step.json",
		},
		{
			slug: "meter-readings", name: "Meter readings", active: true,
			description: "Checks a table of meter readings: types, ranges, duplicates and estimated shares.",
			accepts:     []string{"text/csv", "text/tab-separated-values", "text/plain"},
			stepName:    "Table", kind: "table", sample: "schemas/meter-readings.table-step.json",
		},
		{
			slug: "legacy-import", name: "Legacy import",
			description: "An inactive workflow: it starts no new runs.",
			accepts:     []string{"application/json"},
			stepName:    "Schema", kind: "json_schema", sample: "schemas/building.schema-step.json",
		},
	}
}

// DemoDrafts are the workflows of the demonstration.
func DemoDrafts() ([]Draft, error) {
	var drafts []Draft
	for _, step := range demoSteps() {
		config, err := docs.Sample(step.sample)
		if err != nil {
			return nil, fmt.Errorf("read a sample: %w", err)
		}
		drafts = append(drafts, Draft{
			Slug: step.slug, Name: step.name, Description: step.description, IsActive: step.active,
			Definition: validations.Definition{
				Accepts: step.accepts,
				Steps: []validations.Step{{
					// The same in every installation, so that documents and tests can name it.
					ID: uuid.NewSHA1(uuid.NameSpaceURL, []byte("demo/"+step.slug)).String(), Name: step.stepName,
					Type: step.kind, Config: config,
				}},
			},
		})
	}
	return drafts, nil
}
