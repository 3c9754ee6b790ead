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

// CompileTypeScript compiles programs that use the package of the TypeScript client, with all types checked, once for
// each change of them or of the client. A program is named without an ending, which is .mjs in the
// folder that it returns.
func CompileTypeScript(tb testing.TB, programs map[string]string) coretest.Folder {
	tb.Helper()
	built := TypeScript(tb)
	// The name of the folder changes with the client.
	files := fstest.MapFS{"package.json": {Data: []byte(`{"private": true}`)}, "client": {Data: []byte(built)}}
	for name, code := range programs {
		files[name+".mts"] = &fstest.MapFile{Data: []byte(code)}
	}
	compiled, err := coretest.KeepFolder(files, "programs-typescript", func(folder coretest.Folder) error {
		if err := installTypeScript(tb.Context(), built, string(folder)); err != nil {
			return err
		}
		command := []string{
			compilerIn(built), "--strict", "--target", "es2022", "--module", "node16", "--lib", "es2022",
			"--types", "node",
		}
		for name := range programs {
			command = append(command, name+".mts")
		}
		return executed(tb.Context(), string(folder), "node", command...)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return compiled
}

// installTypeScript installs the package that was built into a folder, without a network, and beside it the types of
// Node.
func installTypeScript(ctx context.Context, built, folder string) error {
	packages, err := filepath.Glob(filepath.Join(built, "*.tgz"))
	if err != nil {
		return fmt.Errorf("find the package: %w", err)
	}
	if len(packages) != 1 {
		return fmt.Errorf("packages = %v, want one", packages)
	}
	err = executed(ctx, folder, "npm", "install", packages[0], "--offline", "--no-audit", "--no-fund")
	for _, types := range []string{"@types", "undici-types"} {
		installed := filepath.Join("node_modules", types)
		err = errors.Join(err, os.Symlink(filepath.Join(built, installed), filepath.Join(folder, installed)))
	}
	return err
}

func compilerIn(built string) string {
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
	tools, err := coretest.InstallNPM(ctx, listed, "typescript")
	if err != nil {
		return "", err
	}
	built, err := coretest.KeepFolder(sources, "client-typescript", func(folder coretest.Folder) error {
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
