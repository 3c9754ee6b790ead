package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// writeProfiles has the whole service but the network answer starts and replays, and keeps where their processor time
// and memory went, for go tool pprof.
func writeProfiles(ctx context.Context, dir string, w *world, show *progress) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	for name, benchmark := range map[string]string{"start": "BenchmarkStart", "replay": "BenchmarkReplay"} {
		show.say("writing the profiles of " + name)
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^"+benchmark+"$", "-benchtime", "5s",
			"-o", filepath.Join(w.dir, "profiled.test"), "-cpuprofile", filepath.Join(dir, name+".cpu.pprof"),
			"-memprofile", filepath.Join(dir, name+".mem.pprof"), module+"/config")
		cmd.Env = append(os.Environ(), coretest.DatabaseVariable+"="+w.postgres.URL())
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("profile %s: %w: %s", name, err, output)
		}
	}
	return nil
}
