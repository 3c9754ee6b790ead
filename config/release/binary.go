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

// programsFolder is where the programs stand, beside the service that runs them.
const programsFolder = "programs/"

// binary is the program, built for a platform, with the programs that it runs.
type binary struct {
	platform

	folder string
	// programs are the names of the validators that are programs of their own.
	programs []string
}

// files are those of the program and its programs, by their names in an archive.
func (b binary) files() ([]entry, error) {
	names := []string{program, programsFolder}
	for _, name := range b.programs {
		names = append(names, programsFolder+name)
	}
	var entries []entry
	for _, name := range names {
		one := entry{name: name, mode: executable}
		if name != programsFolder {
			var err error
			if one.content, err = os.ReadFile(filepath.Join(b.folder, filepath.FromSlash(name))); err != nil {
				return nil, fmt.Errorf("read the program: %w", err)
			}
		}
		entries = append(entries, one)
	}
	return entries, nil
}

// compile builds the program and its programs as static files. They contain nothing of this machine: no path, and no
// build id.
func (r *release) compile(ctx context.Context, work string, p platform) (binary, error) {
	built := binary{platform: p, folder: filepath.Join(work, p.String())}
	err := r.compileModule(ctx, p, "", filepath.Join(built.folder, program))
	modules, malformed := fs.Glob(os.DirFS(r.root), "validations/programs/*/go.mod")
	err = errors.Join(err, malformed)
	for _, module := range modules {
		folder := path.Dir(module)
		name := path.Base(folder)
		built.programs = append(built.programs, name)
		target := filepath.Join(built.folder, filepath.FromSlash(programsFolder), name)
		err = errors.Join(err, r.compileModule(ctx, p, filepath.FromSlash(folder), target))
	}
	return built, err
}

// compileModule builds the program of the module in a folder.
func (r *release) compileModule(ctx context.Context, p platform, folder, target string) error {
	//nolint:gosec // G204: whoever makes the release chooses the version, and check has looked at it.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", "-s -w -buildid= -X main.version="+r.version, "-o", target, ".")
	cmd.Dir = filepath.Join(r.root, folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOTOOLCHAIN=local", "GOAMD64=v1", "GOARM64=v8.0",
		"GOOS="+p.system, "GOARCH="+p.architecture)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s for %s: %w\n%s", filepath.Base(target), p, err, output)
	}
	return nil
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
	files, err := built.files()
	if err != nil {
		return err
	}
	entries := []entry{{top, executable, nil}}
	for _, file := range files {
		entries = append(entries, entry{top + file.name, file.mode, file.content})
	}
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
	compressed := gzip.NewWriter(&packed)
	if err := errors.Join(writeTar(compressed, entries, moment), compressed.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
