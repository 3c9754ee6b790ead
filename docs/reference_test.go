package docs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/docs"
)

// small is a document with what the API's own has in few places.
const small = `
openapi: 3.1.0
tags: [{name: Runs}]
paths:
  /api/things/{id}/:
    patch:
      operationId: changeThing
      tags: [Runs]
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}, example: a b}
        - {name: kind, in: query, required: true, schema: {type: string}, example: x&y}
        - $ref: "#/components/parameters/Key"
      requestBody:
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Thing"}
            examples:
              one: {value: {z: "it's null", a: null, b: [true, 1.50], "on": "false"}}
      responses:
        "204": {description: Done.}
components:
  parameters:
    Key: {name: Idempotency-Key, in: header, schema: {type: string}, example: k}
  schemas:
    Thing:
      type: object
      required: [z]
      properties:
        z: {type: string, maxLength: 9}
        inner: {description: Another one., $ref: "#/components/schemas/Thing"}
        list: {type: array, items: {type: [integer, "null"], minimum: 1, maximum: 5}}
`

func TestRead(t *testing.T) {
	t.Parallel()

	t.Run("KeepsTheOrder", func(t *testing.T) {
		t.Parallel()
		document, err := docs.ReadReference([]byte(small))
		if err != nil {
			t.Fatal(err)
		}
		body := document.Operations()[0].Bodies[0]
		want := []docs.Field{
			{Name: "z", Type: "string", Limits: "at most 9 characters", Required: true},
			{Name: "inner", Type: "object", Description: "Another one."},
			{Name: "list", Type: "array of integer or null"},
		}
		if diff := cmp.Diff(want, body.Fields); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
		const text = "{\n  \"z\": \"it's null\",\n  \"a\": null,\n  \"b\": [true, 1.50],\n  \"on\": \"false\"\n}"
		if got := body.Examples[0].Text; got != text {
			t.Errorf("example = %s, want %s", got, text)
		}
	})

	t.Run("RefusesWhatIsNotThere", func(t *testing.T) {
		t.Parallel()
		_, err := docs.ReadReference([]byte(strings.Replace(small, `schemas/Thing"}`, `schemas/Nothing"}`, 1)))
		if err == nil || !strings.Contains(err.Error(), "#/components/schemas/Nothing") {
			t.Errorf("error = %v, want the reference", err)
		}
		for _, source := range []string{"", "a: [b"} {
			if _, err := docs.ReadReference([]byte(source)); err == nil {
				t.Errorf("%q was read", source)
			}
		}
	})
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	document, err := docs.ReadReference([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	programs, err := document.Operations()[0].Programs()
	if err != nil {
		t.Fatal(err)
	}
	for i, wants := range [][]string{
		{`-X PATCH "$SV_URL/api/things/a%20b/?kind=x%26y"`, `it'\''s null`, "$(openssl rand -hex 16)"},
		{`"z": "it's null"`, `"a": None`, "[True, 1.50]", `"on": "false"`, "str(uuid.uuid4())"},
		{"strings.NewReader(`{", "rand.Text()", `"Content-Type", "application/json"`},
		{`"b": [true, 1.50]`, "randomUUID()", "await answer.text()"},
	} {
		for _, want := range wants {
			if !strings.Contains(programs[i].Code, want) {
				t.Errorf("%s = %s, want %s", programs[i].Name, programs[i].Code, want)
			}
		}
		if strings.Contains(programs[i].Code, ": k") {
			t.Errorf("%s has the key of the document", programs[i].Name)
		}
	}
}
