package files

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func inferCommand() *cobra.Command {
	var declared string
	command := &cobra.Command{
		Use:   "infer FILE",
		Short: "Write a first workflow file from a sample document",
		Long: `Write a first workflow file from a sample document, to standard output.

The file requires what all values of the sample have in common: types, columns and members that are never missing. What
a sample cannot prove, such as ranges and lists of choices, is written as comments. Read it before you use it.

Tables (CSV, XLSX, JSON Lines, Parquet) get a Table Schema from their first 100,000 rows, JSON and YAML a JSON Schema,
IDF and epJSON the checks of EnergyPlus models. XML gets a step that checks only that it is well-formed, and says what
to add. Nothing is sent anywhere.`,
		Example: "  simplevalidations infer readings.csv > readings.yaml\n" +
			"  simplevalidations check readings.csv --workflow readings.yaml",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return infer(cmd, args[0], declared) },
	}
	command.Flags().StringVar(&declared, "content-type", "",
		"the media type of the document (default: by file extension)")
	return command
}

func infer(cmd *cobra.Command, name, declared string) error {
	source, err := cli.OpenSource(cmd.InOrStdin(), name, engines.DefaultLimits().MaxTableBytes)
	if err != nil {
		return cli.Misuse("%v", err)
	}
	types := mediatype.Sent{Declared: declared, Filename: source.Name}.Types()
	document := engines.Document{
		Content: source, Size: source.Size, MediaType: types[0], Filename: filepath.Base(source.Name),
	}
	file, notes, err := Infer(cmd.Context(), document)
	switch err := errors.Join(err, source.Close()); {
	case err == nil:
	case cmd.Context().Err() != nil:
		return interrupted(cmd.Context(), err)
	case errors.Is(err, errUnknownType):
		return cli.Misuse("%s: %v; set --content-type if the type cannot be derived from the file name", name, err)
	default:
		return cli.Misuse("%s: %v", name, err)
	}
	text, err := file.Annotated("", notes)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

var errUnknownType = errors.New(
	"nothing can be inferred from documents of this type; use CSV, XLSX, JSON Lines, Parquet, JSON, YAML, XML or IDF")

// Infer proposes a workflow file for documents such as this one. The notes are about values of the file, by their
// JSON pointers.
func Infer(ctx context.Context, document engines.Document) (File, map[string]string, error) {
	kind, inferred, known, err := engines.Infer(ctx, document)
	if err != nil {
		return File{}, nil, err
	}
	if !known {
		return File{}, nil, errUnknownType
	}
	title := strings.TrimSuffix(document.Filename, filepath.Ext(document.Filename))
	slug := slugOf(title)
	step := validations.Step{
		ID: strings.TrimPrefix(kind, "json_"), Name: engines.KindTitle(kind), Type: kind, Config: inferred.Config,
	}
	notes := map[string]string{}
	for pointer, note := range inferred.Notes {
		notes["/steps/0/config"+pointer] = note
	}
	return File{
		SchemaVersion: Version, Slug: slug, Name: slug, Definition: validations.Definition{
			Accepts: []string{document.MediaType}, Steps: []validations.Step{step},
		},
	}, notes, nil
}

var noSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slugOf makes a slug of a file's name.
func slugOf(title string) string {
	const maxSlug = 63
	slug := strings.Trim(noSlug.ReplaceAllString(strings.ToLower(title), "-"), "-")
	slug = strings.Trim(slug[:min(len(slug), maxSlug)], "-")
	if slug == "" || slug[0] < 'a' || slug[0] > 'z' {
		return "workflow"
	}
	return slug
}
