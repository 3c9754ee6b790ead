package workflows

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/docs"
	"github.com/simplevalidations/simplevalidations/validations"
)

// demoWorkflow is a workflow of the demonstration.
type demoWorkflow struct {
	slug, name, description string
	active                  bool
	accepts                 []string
	steps                   []demoStep
}

// demoStep is made from a sample configuration. Its seed makes its id the same in every database, so that guides and
// tests can name it.
type demoStep struct {
	seed, name, kind, sample string
	continues                bool
}

func demoWorkflows() []demoWorkflow {
	const schema = "schemas/building.schema-step.json"
	return []demoWorkflow{
		{
			slug: "building", name: "Building description", active: true,
			description: "Checks a building's description against a JSON Schema, then by rules.",
			accepts:     []string{"application/json", "application/yaml"},
			steps: []demoStep{
				{seed: "building", name: "Schema", kind: "json_schema", sample: schema, continues: true},
				{
					seed: "building/rules", name: "Rules", kind: "rules",
					sample: "schemas/building.rules-step.json",
				},
			},
		},
		{
			slug: "meter-readings", name: "Meter readings", active: true,
			description: "Checks a table of meter readings: types, ranges, duplicates and estimated shares.",
			accepts:     []string{"text/csv", "text/tab-separated-values", "text/plain"},
			steps: []demoStep{{
				seed: "meter-readings", name: "Table", kind: "table", sample: "schemas/meter-readings.table-step.json",
			}},
		},
		{
			slug: "legacy-import", name: "Legacy import",
			description: "An inactive workflow: it starts no new runs.",
			accepts:     []string{"application/json"},
			steps:       []demoStep{{seed: "legacy-import", name: "Schema", kind: "json_schema", sample: schema}},
		},
	}
}

// DemoDrafts are the workflows of the demonstration.
func DemoDrafts() ([]Draft, error) {
	var drafts []Draft
	for _, workflow := range demoWorkflows() {
		definition := validations.Definition{Accepts: workflow.accepts}
		for _, step := range workflow.steps {
			config, err := docs.Sample(step.sample)
			if err != nil {
				return nil, fmt.Errorf("read a sample: %w", err)
			}
			definition.Steps = append(definition.Steps, validations.Step{
				ID:   uuid.NewSHA1(uuid.NameSpaceURL, []byte("demo/"+step.seed)).String(),
				Name: step.name, Type: step.kind, Config: config, ContinueOnFailure: step.continues,
			})
		}
		drafts = append(drafts, Draft{
			Slug: workflow.slug, Name: workflow.name, Description: workflow.description, IsActive: workflow.active,
			Definition: definition,
		})
	}
	return drafts, nil
}
