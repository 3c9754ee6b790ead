package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"
)

const (
	publicFile = 0o644
	executable = 0o755
	program    = "simplevalidations"
)

// binary is the program, built for a platform.
type binary struct {
	platform

	path string
}

// compile builds the program as a static file. It contains nothing of this machine: no path, and no build id.
func (r *release) compile(ctx context.Context, work string, p platform) (binary, error) {
	built := binary{platform: p, path: filepath.Join(work, p.String(), program)}
	//nolint:gosec // G204: whoever makes the release chooses the version, and check has looked at it.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", "-s -w -buildid= -X main.version="+r.version, "-o", built.path, ".")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOTOOLCHAIN=local", "GOAMD64=v1", "GOARM64=v8.0",
		"GOOS="+p.system, "GOARCH="+p.architecture)
	if output, err := cmd.CombinedOutput(); err != nil {
		return binary{}, fmt.Errorf("build for %s: %w\n%s", p, err, output)
	}
	return built, nil
}

// entry is a file of an archive. A folder ends with a slash.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// archive packs the program with what an operator needs besides it.
func (r *release) archive(built binary) error {
	top := program + "_" + r.version + "_" + built.String() + "/"
	content, err := os.ReadFile(built.path)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	entries := []entry{{top, executable, nil}, {top + program, executable, content}}
	for _, file := range []struct{ name, source string }{
		{"LICENSE", "LICENSE"}, {"CHANGELOG.md", "docs/changelog.md"},
	} {
		content, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(file.source)))
		if err != nil {
			return fmt.Errorf("read a file of the archive: %w", err)
		}
		entries = append(entries, entry{top + file.name, publicFile, content})
	}
	deployed, err := r.deployed(top + "deploy")
	if err != nil {
		return err
	}
	packed, err := compress(append(entries, deployed...), r.moment)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path(built.String()+".tar.gz"), packed, publicFile); err != nil {
		return fmt.Errorf("write an archive: %w", err)
	}
	return nil
}

// deployed lists the files of config/deploy in their order. Scripts can be executed.
func (r *release) deployed(top string) ([]entry, error) {
	var entries []entry
	source := os.DirFS(filepath.Join(r.root, "config", "deploy"))
	err := fs.WalkDir(source, ".", func(name string, found fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if found.IsDir() {
			entries = append(entries, entry{path.Join(top, name) + "/", executable, nil})
			return nil
		}
		content, err := fs.ReadFile(source, name)
		mode := int64(publicFile)
		if bytes.HasPrefix(content, []byte("#!")) {
			mode = executable
		}
		entries = append(entries, entry{path.Join(top, name), mode, content})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the deployment files: %w", err)
	}
	return entries, nil
}

// writeTar writes files that belong to root and are as old as the release.
func writeTar(w io.Writer, entries []entry, moment time.Time) error {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		header := tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: moment,
			Format: tar.FormatPAX,
		}
		if e.name[len(e.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(&header); err != nil {
			return fmt.Errorf("pack %s: %w", e.name, err)
		}
		if _, err := archive.Write(e.content); err != nil {
			return fmt.Errorf("pack %s: %w", e.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("end an archive: %w", err)
	}
	return nil
}

func compress(entries []entry, moment time.Time) ([]byte, error) {
	var packed bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := errors.Join(writeTar(compressed, entries, moment), compressed.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
