// Program generate writes what follows from the OpenAPI document: the types of bodies and the codes of refusals, for
// the service and its clients, and in the clients a method for each operation. What a client does besides that is
// written by hand: keys, retries, unknown outcomes, files, waiting. Run it with go generate ./core/client after a
// change of the document.
package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the files, by their paths from the folder of the clients.
func run(folder string) error {
	files, err := generate(folder)
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	return err
}

// outputs are the files that are written, by their templates.
func outputs() map[string]string {
	return map[string]string{
		"api.go.tmpl": "../api/types.go", "operations.go.tmpl": "operations.go",
		"models.py.tmpl":     "python/src/simplevalidations/models.py",
		"operations.py.tmpl": "python/src/simplevalidations/_operations.py",
		"types.ts.tmpl":      "typescript/src/types.ts", "operations.ts.tmpl": "typescript/src/operations.ts",
	}
}

// generate makes the files, by their paths from the folder of the clients.
func generate(folder string) (map[string][]byte, error) {
	sources := os.DirFS(filepath.Join(folder, "..", ".."))
	text, err := fs.ReadFile(sources, "docs/openapi.yaml")
	if err != nil {
		return nil, fmt.Errorf("find the document: %w", err)
	}
	model, err := read(text)
	if err != nil {
		return nil, err
	}
	project, err := fs.ReadFile(sources, "core/client/python/pyproject.toml")
	if err != nil {
		return nil, fmt.Errorf("find the release: %w", err)
	}
	model.Version = string(version.FindSubmatch(project)[1])
	parsed, err := template.New("").Funcs(functions()).ParseFS(templates, "templates/*")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	files := make(map[string][]byte)
	for from, to := range outputs() {
		var made bytes.Buffer
		if err := parsed.ExecuteTemplate(&made, from, model); err != nil {
			return nil, fmt.Errorf("write %s: %w", to, err)
		}
		files[to] = tidy(made.Bytes())
		if strings.HasSuffix(to, ".go") {
			if files[to], err = format.Source(files[to]); err != nil {
				return nil, fmt.Errorf("format %s: %w", to, err)
			}
		}
	}
	return files, nil
}

var (
	version = regexp.MustCompile(`(?m)^version = "(.*)"$`)
	blank   = regexp.MustCompile(`\n{4,}`)
	divided = regexp.MustCompile(`(?m)^(.*(?:\(Request\(|request\{|\((?:\{)?))\n +(\S.*),\n\s+([)}].*)$`)
)

// tidy leaves at most two blank lines, and joins calls and signatures that fit in a line.
func tidy(text []byte) []byte {
	const width = 120
	text = divided.ReplaceAllFunc(text, func(lines []byte) []byte {
		parts := divided.FindSubmatch(lines)
		space := ""
		if bytes.HasSuffix(parts[1], []byte("({")) {
			space = " " // TypeScript has spaces inside braces.
		}
		if joined := fmt.Sprintf("%s%s%s%s%s", parts[1], space, parts[2], space, parts[3]); len(joined) <= width {
			return []byte(joined)
		}
		return lines
	})
	return append(bytes.TrimSpace(blank.ReplaceAll(text, []byte("\n\n\n"))), '\n')
}
