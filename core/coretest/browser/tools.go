package browser

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed npm
var npm embed.FS

// tools are the programs that judge pages.
type tools struct {
	folder string
	// axe is the source of axe-core.
	axe string
}

// installTools finds the tools in the user's cache, where npm puts them once for each change of what is listed.
func installTools(ctx context.Context) (tools, error) {
	listed, err := fs.Sub(npm, "npm")
	if err != nil {
		return tools{}, fmt.Errorf("list the tools: %w", err)
	}
	folder, err := cacheFolder(listed)
	if err != nil {
		return tools{}, err
	}
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		if err := install(ctx, listed, folder); err != nil {
			return tools{}, err
		}
	}
	axe, err := os.ReadFile(filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return tools{}, fmt.Errorf("read axe-core: %w", err)
	}
	return tools{folder: folder, axe: string(axe)}, nil
}

// cacheFolder is named after the contents of the listed files.
func cacheFolder(listed fs.FS) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	sum := sha256.New()
	err = fs.WalkDir(listed, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(listed, name)
		sum.Write(text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the list of tools: %w", err)
	}
	const enough = 16
	return filepath.Join(cache, "simplevalidations", "pages-"+hex.EncodeToString(sum.Sum(nil))[:enough]), nil
}

// install works in a folder of its own and moves it into place, so that several processes may install at once and none
// finds half of the tools. npm compares what it gets with the digests in package-lock.json.
func install(ctx context.Context, listed fs.FS, folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), "install-*")
	if err != nil {
		return fmt.Errorf("make a folder in the cache: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, listed); err != nil {
		return fmt.Errorf("copy the list of tools: %w", err)
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = work
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, output)
	}
	if err := os.Rename(work, folder); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("move the tools into place: %w", err)
	}
	return nil
}
