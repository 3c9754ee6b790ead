package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config/cmd"
)

const (
	referenceFile    = "../../../docs/guides/cli.md"
	referenceHeading = "## Commands\n"
)

// TestCommandReference compares the commands that the guide lists with those of the program.
func TestCommandReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), referenceHeading)
	if !found {
		t.Fatalf("%s has no heading %q", referenceFile, referenceHeading)
	}
	var listed []string
	for _, match := range regexp.MustCompile("`([a-z-]+(?: [a-z]+)*)(?: --demo)?`").FindAllStringSubmatch(section, -1) {
		listed = append(listed, match[1])
	}
	slices.Sort(listed)
	if diff := cmp.Diff(leaves(cmd.Program{}.Command()), listed); diff != "" {
		t.Errorf("%s (-commands +page):\n%s", referenceFile, diff)
	}
}

// endings are the commands that do something, in their order.
func endings(root *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	for _, child := range root.Commands() {
		switch {
		case child.Name() == "completion" || child.Name() == "help":
		case child.HasSubCommands():
			found = append(found, endings(child)...)
		default:
			found = append(found, child)
		}
	}
	return found
}
