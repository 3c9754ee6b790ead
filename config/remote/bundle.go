package remote

import (
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/workflows/files"
)

func bundleWorkflowCommand() *cobra.Command {
	var output string
	var hosts []string
	command := &cobra.Command{
		Use:   "bundle FILE",
		Short: "Embed the schema files that a workflow file names, without a server",
		Long: `Embed the schema files that a workflow file names, without a server.

Steps of the types json_schema, xml, schematron and table may name a file instead of a schema, as in
"schema: ./site.schema.json", and steps of the type ids as in "ids: ./site.ids". The command replaces the name with the
content of the file, and adds all files that the schema refers to ($ref; xs:include, xs:import, xs:redefine) under
"schemas". A Schematron schema that includes others is first made one file by: programs/schematron bundle FILE

Relative paths are resolved against the file that contains them. URLs are fetched only from the hosts of --allow-host,
over HTTPS and from public networks; redirects must lead to allowed hosts, too.`,
		Example: "  simplevalidations workflows bundle site.yaml -o site.bundled.yaml\n" +
			"  simplevalidations workflows bundle site.yaml --allow-host json.schemastore.org > site.bundled.yaml",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == args[0] {
				return misuse("--output names the file itself; name another one")
			}
			bundler := files.NewBundler(hosts, func(line string) { cmd.PrintErrln(line) })
			file, err := bundler.Bundle(cmd.Context(), args[0])
			if cmd.Context().Err() != nil {
				return &cli.ExitError{Code: cli.ExitInterrupted, Reason: "interrupted"}
			}
			if err != nil {
				return misuse("%v", err)
			}
			const mode = 0o644
			return writeFile(cmd, output, file, mode)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "the file to write (default: standard output)")
	command.Flags().StringArrayVar(&hosts, "allow-host", nil, "a host that schemas may come from; may be repeated")
	return command
}
