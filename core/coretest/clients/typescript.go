package clients

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/npm"
)

// builtTypeScript is built once for each process: the sources may change while its tests run.
var builtTypeScript = sync.OnceValues(buildTypeScript)

// TypeScript returns a folder with the TypeScript client: its sources, its tests and its driver in build, its package
// as the only .tgz, and the compiler in node_modules.
func TypeScript(tb testing.TB) string {
	tb.Helper()
	folder, err := builtTypeScript()
	if err != nil {
		tb.Fatal(err)
	}
	return folder
}

// InstallTypeScript installs the package of the TypeScript client into a folder, without a network, and beside it the
// types of Node. It returns the path of the compiler.
func InstallTypeScript(tb testing.TB, folder string) string {
	tb.Helper()
	built := TypeScript(tb)
	packages, err := filepath.Glob(filepath.Join(built, "*.tgz"))
	if err != nil || len(packages) != 1 {
		tb.Fatalf("packages = %v and error %v, want one", packages, err)
	}
	err = executed(tb.Context(), folder, "npm", "install", packages[0], "--offline", "--no-audit", "--no-fund")
	if err != nil {
		tb.Fatal(err)
	}
	for _, types := range []string{"@types", "undici-types"} {
		installed := filepath.Join("node_modules", types)
		if err := os.Symlink(filepath.Join(built, installed), filepath.Join(folder, installed)); err != nil {
			tb.Fatal(err)
		}
	}
	return filepath.Join(built, "node_modules", "typescript", "bin", "tsc")
}

// buildTypeScript builds in the cache, once for each change of the sources.
func buildTypeScript() (string, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is not installed; .ci/setup npm does that")
	}
	sources, err := readSources()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	listed := fstest.MapFS{"package.json": sources["package.json"], "package-lock.json": sources["package-lock.json"]}
	tools, err := npm.Install(ctx, listed, "typescript")
	if err != nil {
		return "", err
	}
	built, err := npm.Keep(sources, "client-typescript", func(folder npm.Folder) error {
		return errors.Join(
			os.Symlink(tools.Path("node_modules"), folder.Path("node_modules")),
			executed(ctx, string(folder), "npm", "run", "build:test"),
			executed(ctx, string(folder), "scripts/pack.sh", "."),
		)
	})
	return string(built), err
}

// readSources reads the folder of the client without what is made there.
func readSources() (fstest.MapFS, error) {
	module, err := coretest.Root()
	if err != nil {
		return nil, err
	}
	root := os.DirFS(filepath.Join(module, "core", "client", "typescript"))
	sources := make(fstest.MapFS)
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == "node_modules" || name == "build" || name == "dist" {
				return fs.SkipDir
			}
			return nil
		}
		text, err := fs.ReadFile(root, name)
		mode := fs.FileMode(0o644)
		if path.Ext(name) == ".sh" {
			mode = 0o755
		}
		sources[name] = &fstest.MapFile{Data: text, Mode: mode}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the TypeScript client: %w", err)
	}
	return sources, nil
}

func executed(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, output)
	}
	return nil
}
