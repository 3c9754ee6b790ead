// Command generate writes the tables of the package dictionary from the epJSON schemas of EnergyPlus.
//
// It takes the files Energy+.schema.epJSON of the versions, oldest first, plain or compressed by gzip. Every
// installation of EnergyPlus has the one of its version. The facts are kept, the explanations are not.
//
//	go run ./validations/engines/energyplus/dictionary/generate -o \
//		validations/engines/energyplus/dictionary/tables.gz V8-9-0/Energy+.schema.epJSON ...
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/dictionary"
)

var errNoSchemas = errors.New("name the schemas to read, oldest version first")

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes the tables and prints how many classes each version has.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	target := flags.String("o", "tables.gz", "the `file` to write")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	if flags.NArg() == 0 {
		return errNoSchemas
	}
	dictionaries := []*dictionary.Dictionary{}
	for _, file := range flags.Args() {
		d, err := readSchema(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintf(out, "%s: %d classes\n", d.Version, len(d.Classes))
		dictionaries = append(dictionaries, d)
	}
	var tables bytes.Buffer
	if err := dictionary.Write(&tables, dictionaries); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	const readable = 0o644
	if err := os.WriteFile(*target, tables.Bytes(), readable); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	return nil
}

func readSchema(file string) (*dictionary.Dictionary, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		if content, err = io.ReadAll(plain); err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
	}
	return convert(content)
}
