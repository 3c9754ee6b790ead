package cli_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core/cli"
)

func TestWriteTable(t *testing.T) {
	t.Parallel()

	var got strings.Builder
	err := cli.WriteTable(&got, []string{"KEY", "STATE"}, []string{"a\tb\n\x1b[31m", "finished"}, []string{"alone"})
	if err != nil {
		t.Fatal(err)
	}
	want := "KEY        STATE\n" +
		"a b �[31m  finished\n" +
		"alone\n"
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
