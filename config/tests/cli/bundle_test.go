package cli

import "testing"

// TestBundle makes one file of a workflow and the schemas beside it, and works with that file.
func TestBundle(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := setupBench(t)
	b.write(t, "site.yaml", workflowFile("application/json", "json_schema", `{schema: ./site.schema.json}`))
	b.write(t, "site.schema.json", `{"properties": {"building": {"$ref": "building.schema.json"}}}`)
	b.write(t, "building.schema.json", `{"required": ["owner"]}`)
	b.run(ctx, "workflows", "lint", "@site.yaml").want(t, 2, "site.yaml:6:", "run: simplevalidations workflows bundle")
	b.run(ctx, "workflows", "bundle", "@site.yaml", "-o", "@out.yaml").want(t, 0, "reading ", "building.schema.json")
	b.run(ctx, "workflows", "lint", "@out.yaml").want(t, 0, "ok")
	b.check(ctx, "@bad.json", "-w", "@out.yaml").want(t, 1, "missing property 'owner'", "/building")
	b.run(ctx, "workflows", "bundle", "@site.yaml").want(t, 0, "schemas:")

	b.run(ctx, "workflows", "bundle", "@site.yaml", "-o", "@site.yaml").want(t, 2, "names the file itself")
	b.write(t, "building.schema.json", `{"$ref": "https://json.example/a.json"}`)
	b.run(ctx, "workflows", "bundle", "@site.yaml").want(t, 2, "allow it with --allow-host json.example")
	b.write(t, "building.schema.json", `{"$ref": "http://127.0.0.1:1/a.json"}`)
	b.run(ctx, "workflows", "bundle", "@site.yaml", "--allow-host", "127.0.0.1").
		want(t, 2, "the address is not allowed")
}
