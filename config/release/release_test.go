package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
)

const testVersion = "0.9.0-test"

// built is a release for this machine's platform, which the tests of the package look at.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "simplevalidations-release-test-")
	if err == nil {
		built = filepath.Join(dir, "release")
		err = buildInto(built, moduleRoot, runtime.GOOS+"/"+runtime.GOARCH)
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "build a release:", err)
		code = 1
	}
	os.Exit(code)
}

func buildInto(out, root, platforms string) error {
	return run(context.Background(), []string{
		"-root", root, "-out", out, "-version", "v" + testVersion, "-time", "1700000000", "-platforms", platforms,
	}, io.Discard)
}

func resultName(rest string) string {
	return filepath.Join(built, "simplevalidations_"+testVersion+"_"+rest)
}

func host() string { return runtime.GOOS + "_" + runtime.GOARCH }

func TestSumsAreThoseOfAllFiles(t *testing.T) {
	t.Parallel()
	sums := string(read(t, filepath.Join(built, "SHA256SUMS")))
	entries, err := os.ReadDir(built)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range entries {
		if found.Name() == "SHA256SUMS" {
			continue
		}
		line := fmt.Sprintf("%x  %s\n", sha256.Sum256(read(t, filepath.Join(built, found.Name()))), found.Name())
		if !strings.Contains(sums, line) {
			t.Errorf("SHA256SUMS has no %s", line)
		}
	}
	if got := strings.Count(sums, "\n"); got != len(entries)-1 || got < 2 {
		t.Errorf("SHA256SUMS has %d lines for %d files", got, len(entries)-1)
	}
}

// TestSignature signs checksums and has them checked by the command that the guide gives to users.
func TestSignature(t *testing.T) {
	t.Parallel()
	guide := string(read(t, filepath.Join(moduleRoot, "docs", "guides", "deployment.md")))
	_, check, found := strings.Cut(guide, "$ echo \"release ")
	check, _, _ = strings.Cut("echo \"release "+check, "\nGood ")
	if !found {
		t.Fatal("the guide does not say how to check the signature")
	}
	home, foreign := t.TempDir(), filepath.Join(t.TempDir(), "foreign")
	for _, key := range []string{filepath.Join(home, "release"), foreign} {
		atHome(t, home, "ssh-keygen -q -t ed25519 -N '' -C '' -f "+key, true)
	}
	sums := filepath.Join(home, "SHA256SUMS")
	r := release{out: home, key: filepath.Join(home, "release")}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(sums, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("the sums\n")
	if err := r.signSums(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	check = strings.ReplaceAll(check, "\n$ ", "\n")
	atHome(t, home, check, true)
	write("other sums\n")
	atHome(t, home, check, false)
	write("the sums\n")
	atHome(t, home, check, true)
	atHome(t, home, "rm SHA256SUMS.sig", true)
	r.key = foreign
	if err := r.signSums(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	atHome(t, home, check, false)
	var said strings.Builder
	if err := new(release).signSums(t.Context(), &said); err != nil || !strings.HasPrefix(said.String(), "NOT SIGNED") {
		t.Errorf("without a key: %v, said %q, want that it is not signed", err, said.String())
	}
}

// atHome runs a script in a folder, which succeeds or does not.
func atHome(tb testing.TB, home, script string, succeeds bool) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "sh", "-ec", script)
	cmd.Dir = home
	if output, err := cmd.CombinedOutput(); (err == nil) != succeeds {
		tb.Fatalf("%s: %v, want success: %t\n%s", script, err, succeeds, output)
	}
}

func TestArchiveHasTheProgramAndItsDeployment(t *testing.T) {
	t.Parallel()
	files := untar(t, read(t, resultName(host()+".tar.gz")), true)
	top := "simplevalidations_" + testVersion + "_" + host()
	for _, name := range []string{"LICENSE", "CHANGELOG.md", "deploy/nginx/upstream.conf"} {
		if len(files[path.Join(top, name)].content) == 0 {
			t.Errorf("the archive has no %s", name)
		}
	}
	binary := files[path.Join(top, "simplevalidations")]
	if got := says(t, binary.content, "--version"); got != "simplevalidations "+testVersion+"\n" {
		t.Errorf("version = %q, want %s", got, testVersion)
	}
	hasPrograms(t, files, top+"/")
	for name, file := range files {
		if isScript := bytes.HasPrefix(file.content, []byte("#!")); isScript && file.mode != executable {
			t.Errorf("%s cannot be executed", name)
		}
		if file.mode&0o022 != 0 {
			t.Errorf("mode of %s = %o, want that others cannot change it", name, file.mode)
		}
	}
}

// hasPrograms asks each program in a folder for what is wrong with an empty configuration.
func hasPrograms(tb testing.TB, files map[string]unpacked, folder string) {
	tb.Helper()
	for name, want := range map[string]string{
		"ids": `"ids.missing"`, "schematron": `"schema.missing"`, "parquet": `"parquet.type"`,
	} {
		file := filepath.Join(tb.TempDir(), name)
		if err := os.WriteFile(file, files[folder+"programs/"+name].content, executable); err != nil {
			tb.Fatal(err)
		}
		cmd := exec.CommandContext(tb.Context(), file)
		cmd.Stdin = strings.NewReader(`{"version":1,"task":"configure","config":{}}` + "\n")
		if answer, err := cmd.Output(); err != nil || !strings.Contains(string(answer), want) {
			tb.Errorf("the program %s answers %q, %v; want %s", name, answer, err, want)
		}
	}
}

func TestBillOfMaterialsNamesWhatIsLinked(t *testing.T) {
	t.Parallel()
	var bom cyclonedx.BOM
	text := read(t, resultName(host()+".cdx.json"))
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, component := range *bom.Components {
		if component.Name != "std" {
			got = append(got, component.Name+"@"+component.Version)
		}
	}
	files := untar(t, read(t, resultName(host()+".tar.gz")), true)
	var want []string
	for _, name := range []string{"simplevalidations", "programs/ids", "programs/parquet", "programs/schematron"} {
		linked, err := buildinfo.Read(bytes.NewReader(
			files[path.Join("simplevalidations_"+testVersion+"_"+host(), name)].content))
		if err != nil {
			t.Fatal(err)
		}
		for _, module := range linked.Deps {
			one := module.Path + "@" + module.Version
			if module.Replace == nil && !slices.Contains(want, one) {
				want = append(want, one)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("components (-linked +listed):\n%s", diff)
	}
	if bom.Metadata.Component.Version != testVersion {
		t.Errorf("version = %s, want %s", bom.Metadata.Component.Version, testVersion)
	}
	// The release itself is built with more, which is no part of the program.
	if slices.ContainsFunc(got, func(name string) bool { return strings.Contains(name, "cyclonedx") }) {
		t.Error("the program links what only the release needs")
	}
}

// A version that clients and operators rely on is built from a source that says so.
func TestVersionsHaveTheirChangesAndTheirMigrations(t *testing.T) {
	t.Parallel()
	const changes, migration = "## 1.2.3 (2026-12-01)\n", "00001_first.sql"
	for _, tt := range []struct{ name, version, changes, settled, complaint string }{
		{"Ready", "1.2.3", changes, "0123  " + migration + "\n", ""},
		{"Unreleased", "1.2.3", "## 1.2.3 (unreleased)\n", "0123  " + migration + "\n", "has no section"},
		{"Unsettled", "1.2.3", changes, "", "does not list " + migration},
		{"BetweenReleases", "1.2.2-5-gabcdef-dirty", "", "", ""},
		{"NoFileName", "../1.2.3", "", "", "cannot be part of a file name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := release{version: tt.version, root: t.TempDir()}
			for name, text := range map[string]string{
				"docs/changelog.md": tt.changes, "migrations/settled.txt": tt.settled, "migrations/" + migration: "",
			} {
				target := filepath.Join(r.root, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o700),
					os.WriteFile(target, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			err := r.check()
			if tt.complaint == "" && err != nil || tt.complaint != "" &&
				(err == nil || !strings.Contains(err.Error(), tt.complaint)) {
				t.Errorf("check = %v, want %q", err, tt.complaint)
			}
		})
	}
}

// What go install downloads has no other module's source in place of a dependency: it refuses that.
func TestGoInstallCanBuildTheModule(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(string(read(t, filepath.Join(moduleRoot, "go.mod")))) {
		if strings.HasPrefix(line, "replace") || strings.HasPrefix(line, "exclude") {
			t.Errorf("go.mod has %q, with which go install refuses the module", line)
		}
	}
}

// unpacked is a file of an archive.
type unpacked struct {
	mode    int64
	content []byte
}

func untar(tb testing.TB, packed []byte, compressed bool) map[string]unpacked {
	tb.Helper()
	var source io.Reader = bytes.NewReader(packed)
	if compressed {
		unzipped, err := gzip.NewReader(source)
		if err != nil {
			tb.Fatal(err)
		}
		source = unzipped
	}
	files := make(map[string]unpacked)
	for archive := tar.NewReader(source); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			tb.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			tb.Fatal(err)
		}
		files[header.Name] = unpacked{header.Mode, content}
	}
}

// says runs a program and returns what it prints.
func says(tb testing.TB, content []byte, args ...string) string {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "simplevalidations")
	if err := os.WriteFile(name, content, 0o700); err != nil {
		tb.Fatal(err)
	}
	output, err := exec.CommandContext(tb.Context(), name, args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%v: %v\n%s", args, err, output)
	}
	return string(output)
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}
