// Command generate writes the tables of the package ifc from the EXPRESS schemas of buildingSMART.
//
// It takes the schemas IFC2X3 TC1, IFC4 ADD2 TC1 and IFC4X3 ADD2, oldest first, as buildingSMART publishes them. The
// facts are kept: classes, attributes and types. Rules and functions are not.
//
//	go run ./ifc/generate -o ifc/tables.gz \
//		IFC2X3_TC1.exp IFC4_ADD2_TC1.exp IFC4X3_ADD2.exp
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/simplevalidations/simplevalidations/validations/programs/ids/ifc"
)

var errNoSchemas = errors.New("name the schemas to read, oldest first")

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes the tables and prints how many classes each schema has.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	target := flags.String("o", "tables.gz", "the `file` to write")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	if flags.NArg() == 0 {
		return errNoSchemas
	}
	schemas := []ifc.Declared{}
	for _, file := range flags.Args() {
		text, err := os.ReadFile(file) //nolint:gosec // the user names the file
		if err != nil {
			return fmt.Errorf("read schema: %w", err)
		}
		s, err := readSchema(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintf(out, "%s: %d classes, %d types\n", s.Name, len(s.Classes), len(s.Types))
		schemas = append(schemas, s)
	}
	var tables bytes.Buffer
	if err := ifc.Write(&tables, schemas); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	const readable = 0o644
	if err := os.WriteFile(*target, tables.Bytes(), readable); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	return nil
}
