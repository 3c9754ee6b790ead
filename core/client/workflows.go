package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// Workflows iterates over the workflows of the organization.
func (c *Client) Workflows(ctx context.Context) iter.Seq2[Workflow, error] {
	return list[Workflow](ctx, c, "/api/workflows/", url.Values{})
}

// Workflow reads a workflow by its id or slug, as of a version; 0 is the latest.
func (c *Client) Workflow(ctx context.Context, id string, version int) (Workflow, error) {
	return get[Workflow](ctx, c, workflowPath(id, "", version))
}

// ExportWorkflow reads a workflow as a YAML file, as of a version; 0 is the latest.
func (c *Client) ExportWorkflow(ctx context.Context, id string, version int) ([]byte, error) {
	got, err := c.send(ctx, request{method: http.MethodGet, path: workflowPath(id, "export/", version)})
	return got.body, err
}

// ImportWorkflow imports a YAML file: as a new workflow, or as the next version of the workflow that has its slug.
// Without a key the client makes one.
func (c *Client) ImportWorkflow(ctx context.Context, file []byte, key string) (WorkflowImport, error) {
	key, err := c.keyFor(key)
	if err != nil {
		return WorkflowImport{}, err
	}
	imported, _, err := call[WorkflowImport](ctx, c, request{
		method: http.MethodPost, path: "/api/workflows/import/", key: key, creates: true,
		header: http.Header{"Content-Type": {"application/yaml"}}, body: bytesBody(file),
	})
	return imported, err
}

func workflowPath(id, below string, version int) string {
	path := "/api/workflows/" + url.PathEscape(id) + "/" + below
	if version > 0 {
		path += "?version=" + strconv.Itoa(version)
	}
	return path
}
