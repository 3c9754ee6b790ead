package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// TestSavesWarnOfWhatChecksNothing saves a schema with a slip: it is taken, and the answer says so.
func TestSavesWarnOfWhatChecksNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	warning := api.FieldError{
		Pointer: "/steps/0/config/schema/requird", Line: 11, Column: 39, Code: "schema.unknown_keyword",
		Detail: `"requird" is not a keyword of JSON Schema, so it is ignored; did you mean required?`,
	}
	file := strings.Replace(siteReport, "required", "requird", 1)
	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		got := fixture.Decoded[api.WorkflowImport](t, s.Must(t, want, s.importing("", file)))
		if diff := cmp.Diff([]api.FieldError{warning}, got.Workflow.Warnings); diff != "" {
			t.Errorf("warnings of an import (-want +got):\n%s", diff)
		}
	}
	warning.Line, warning.Column, warning.Pointer = 0, 0, "/definition"+warning.Pointer
	definition := `{"accepts": ["application/json"], "steps": [{"id": "a", "name": "A", "type": "json_schema",
		"config": {"schema": {"requird": ["a"]}}}]}`
	for address, body := range map[string]string{
		"/api/workflows/":                    `{"slug": "slip", "name": "Slip", "definition": ` + definition + `}`,
		"/api/workflows/from-file/versions/": `{"definition": ` + definition + `}`,
	} {
		creation := s.creation("", "").To(address).WithBody("application/json", body)
		got := fixture.Decoded[api.Workflow](t, s.Must(t, http.StatusCreated, creation))
		if diff := cmp.Diff([]api.FieldError{warning}, got.Warnings); diff != "" {
			t.Errorf("warnings of a POST to %s (-want +got):\n%s", address, diff)
		}
	}
	read := s.Must(t, http.StatusOK, s.change(http.MethodGet, "/api/workflows/from-file/", ""))
	if strings.Contains(string(read.Body), "warnings") {
		t.Errorf("a workflow that is read has warnings: %s", read.Body)
	}
}
