package cmd_test

import (
	"runtime/debug"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/cmd"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	recorded := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}}
	}
	for _, tt := range []struct {
		name, linked string
		info         *debug.BuildInfo
		want         string
	}{
		{"OfTheLinker", "1.2.3", recorded("v0.0.1"), "1.2.3"},
		{"OfGoInstall", "", recorded("v1.2.3"), "1.2.3"},
		{"OfACheckout", "", recorded("(devel)"), "dev"},
		{"OfNothing", "", nil, "dev"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := cmd.Version(tt.linked, tt.info); got != tt.want {
				t.Errorf("version = %s, want %s", got, tt.want)
			}
		})
	}
}
