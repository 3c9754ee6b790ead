// Package docs holds the product's documentation inside the binary: the OpenAPI document, the pages for people, the
// sample documents and the schema of workflow files. Site makes the pages readable in a browser, and Reference is what
// the OpenAPI document says of each operation.
package docs

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed openapi.yaml
var openAPI string

//go:embed workflow-file.schema.json
var workflowFileSchema string

//go:embed adr errors guides index.md changelog.md
var pages embed.FS

//go:embed diagrams
var diagrams embed.FS

//go:embed samples
var samples embed.FS

// OpenAPI returns the description of the REST API, an OpenAPI 3.1 document in YAML.
func OpenAPI() []byte {
	return []byte(openAPI)
}

// WorkflowFileSchema returns the JSON Schema of workflows as files.
func WorkflowFileSchema() []byte {
	return []byte(workflowFileSchema)
}

// Pages lists the pages in alphabetical order, like "errors/not_found" or "guides/validators/xml". The page "index",
// which leads to all others, is not in the list.
func Pages() ([]string, error) {
	var names []string
	err := fs.WalkDir(pages, ".", func(file string, _ fs.DirEntry, err error) error {
		name, isPage := strings.CutSuffix(file, ".md")
		if isPage && name != "index" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list pages: %w", err)
	}
	return names, nil
}

// Page returns the Markdown of the page that Pages lists under the name. Links between pages are relative and end in
// .md, so that they also work where the files are read as they are.
func Page(name string) ([]byte, bool) {
	text, err := pages.ReadFile(name + ".md")
	return text, err == nil
}

// Diagram returns a drawing by the name that pages refer to, like "retry.svg".
func Diagram(name string) ([]byte, error) {
	drawing, err := diagrams.ReadFile(path.Join("diagrams", name))
	if err != nil {
		return nil, fmt.Errorf("read diagram: %w", err)
	}
	return drawing, nil
}

// Samples returns the sample documents and the configurations that check them.
func Samples() (fs.FS, error) {
	sub, err := fs.Sub(samples, "samples")
	if err != nil {
		return nil, fmt.Errorf("open samples: %w", err)
	}
	return sub, nil
}

// Sample returns one sample by its path, like "good/building.json".
func Sample(name string) ([]byte, error) {
	text, err := samples.ReadFile(path.Join("samples", name))
	if err != nil {
		return nil, fmt.Errorf("read sample: %w", err)
	}
	return text, nil
}
