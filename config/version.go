package config

import (
	"runtime/debug"
	"strings"
)

// Version returns the version that the linker was given. Without one it is what go install has recorded, for which no
// linker flags are given, or dev.
func Version(linked string, info *debug.BuildInfo) string {
	switch {
	case linked != "":
		return linked
	case info == nil || info.Main.Version == "" || info.Main.Version == "(devel)":
		return "dev"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}
