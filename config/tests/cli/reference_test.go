package cli

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config/cmd"
)

var update = flag.Bool("update", false, "write the reference of the commands anew")

const (
	referenceFile    = "../../../docs/guides/cli.md"
	referenceHeading = "## Commands\n"
)

// TestCommandReference holds the page about the command line against the commands.
func TestCommandReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(page), referenceHeading)
	if !found {
		t.Fatalf("%s has no heading %q", referenceFile, referenceHeading)
	}
	want := before + referenceHeading + reference(cmd.Program{}.Command())
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("%s (-commands +page; go test ./config/tests/cli -run TestCommandReference -update writes it anew):"+
			"\n%s", referenceFile, diff)
	}
}

// reference describes a command and those below it.
func reference(command *cobra.Command) string {
	var text strings.Builder
	for _, child := range command.Commands() {
		if child.Hidden || child.Name() == "completion" || child.Name() == "help" {
			continue
		}
		if !child.HasSubCommands() {
			fmt.Fprintf(&text, "\n### %s\n\n", strings.TrimPrefix(child.CommandPath(), "simplevalidations "))
			description := child.Short + "."
			if child.Long != "" {
				description = child.Long
			}
			fmt.Fprintf(&text, "%s\n\n```text\n%s\n", description, child.UseLine())
			if flags := child.LocalFlags().FlagUsages(); flags != "" {
				fmt.Fprintf(&text, "\n%s", flags)
			}
			text.WriteString("```\n")
		}
		text.WriteString(reference(child))
	}
	return text.String()
}
