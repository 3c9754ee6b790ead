// Package npm keeps what npm installs for tests in the user's cache, so that it is installed once for each change of
// what is listed. Nothing here is part of the service.
package npm

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

// Install returns a folder with the listed files and the packages of their package-lock.json. npm compares what it gets
// with the digests in that file.
func Install(ctx context.Context, name string, listed fs.FS) (string, error) {
	return Keep(name, listed, func(folder string) error {
		cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		cmd.Dir = folder
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("npm ci: %w\n%s", err, output)
		}
		return nil
	})
}

// Keep returns a folder of the cache with the files and what the function has made beside them. The function is called
// when there is no such folder for these files. It works in another folder, which is then moved into place, so that
// several processes may do so at once and none finds half of it.
func Keep(name string, files fs.FS, fill func(folder string) error) (string, error) {
	folder, err := cacheFolder(name, files)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return folder, err
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
	if err := fill(work); err != nil {
		return "", err
	}
	if err := os.Rename(work, folder); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("move %s into place: %w", name, err)
	}
	return folder, nil
}

// cacheFolder is named after the names and the contents of the files.
func cacheFolder(name string, files fs.FS) (string, error) {
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
