package reference

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// golang writes a whole program, which compiles as it is.
func (c call) golang() string {
	var code strings.Builder
	code.WriteString("package main\n\nimport (\n")
	for _, imported := range c.goImports() {
		fmt.Fprintf(&code, "\t%q\n", imported)
	}
	code.WriteString(")\n\nfunc main() {\n")
	body := "nil"
	switch {
	case c.file != "":
		body = "document"
		fmt.Fprintf(&code, "\tdocument, err := os.Open(%q)\n%s", c.file, failing)
	case c.body != "":
		body = "body"
		code.WriteString("\tbody := strings.NewReader(" + goText(c.body) + ")\n")
	}
	fmt.Fprintf(&code, "\trequest, err := http.NewRequest(%q, os.Getenv(\"SV_URL\")+%q, %s)\n%s",
		c.method, c.path, body, failing)
	for _, h := range c.headers {
		fmt.Fprintf(&code, "\trequest.Header.Set(%q, %s)\n", h.name, h.inGo())
	}
	code.WriteString("\tanswer, err := http.DefaultClient.Do(request)\n" + failing)
	code.WriteString("\tdefer answer.Body.Close()\n\tfmt.Println(answer.Status)\n")
	code.WriteString("\tif _, err := io.Copy(os.Stdout, answer.Body); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n")
	return code.String()
}

// failing ends the program with an error.
const failing = "\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n"

func (c call) goImports() []string {
	imports := []string{"fmt", "io", "log", "net/http", "os"}
	if c.makesKey() {
		imports = append(imports, "crypto/rand")
	}
	if c.body != "" && c.file == "" {
		imports = append(imports, "strings")
	}
	slices.Sort(imports)
	return imports
}

func (h header) inGo() string {
	switch h.from {
	case token:
		return `"Bearer "+os.Getenv("SV_TOKEN")`
	case signature:
		return `os.Getenv("SV_SIGNATURE")`
	case newKey:
		return "rand.Text()"
	case written:
	}
	return strconv.Quote(h.value)
}

func goText(text string) string {
	if strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}
