// Command release builds what a release consists of: a static binary for each platform with its programs and the
// deployment files, in an archive; the software bill of materials of each; an OCI image for the Linux platforms; and
// the checksums of all, which are signed if -key names an SSH key.
//
// It needs Go and the module proxy, and no container engine. The same source, version, time and Go release give the
// same bytes on every machine.
//
// Tools of the trade do not fit. ko 0.19 pulls a base image from a registry, and packs one program without others
// beside it. cyclonedx-gomod 1.10 dates its bills by the clock and numbers them at random. goreleaser 2.18 demands a
// newer release of Go than the service.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := 0
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		code = 1
	}
	stop()
	os.Exit(code)
}

// release is what is built.
type release struct {
	// version has no leading v. revision is the commit.
	version, revision string
	// moment is the time of all files.
	moment time.Time
	// root is the folder of the module, out the one of the results.
	root, out string
	// key is the file of the SSH key that signs, or "".
	key       string
	platforms []platform
}

// platform is an operating system and an architecture, as Go calls them.
type platform struct {
	system, architecture string
}

// String names the platform in names of files.
func (p platform) String() string { return p.system + "_" + p.architecture }

// moduleRoot leads from here to the module of the service. Here is another one, so that what only a release needs is no
// requirement of the service.
const moduleRoot = "../.."

const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func run(ctx context.Context, args []string, said io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", moduleRoot, "the folder of the service's module")
	out := flags.String("out", filepath.Join(moduleRoot, "build", "release"),
		"the folder of the results, which is emptied first")
	version := flags.String("version", "", "the version, such as v1.2.3; by default what git describes")
	platforms := flags.String("platforms", allPlatforms, "the platforms, separated by commas")
	moment := flags.Int64("time", 0, "the time of all files, in seconds since 1970; by default that of the commit")
	key := flags.String("key", "", "the file of the SSH key that signs the checksums")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := release{root: *root, out: *out, version: *version, moment: time.Unix(*moment, 0).UTC(), key: *key}
	for name := range strings.SplitSeq(*platforms, ",") {
		system, architecture, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("platform %q is not a system/architecture", name)
		}
		r.platforms = append(r.platforms, platform{system, architecture})
	}
	if err := r.askGit(ctx); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	return r.build(ctx, said)
}

// askGit fills in what was not given.
func (r *release) askGit(ctx context.Context) error {
	if r.version == "" {
		described, err := r.git(ctx, "describe", "--tags", "--always", "--dirty")
		if err != nil {
			return fmt.Errorf("no -version, and %w", err)
		}
		r.version = described
	}
	r.version = strings.TrimPrefix(r.version, "v")
	// A copy of the source without its history can be released, too.
	r.revision, _ = r.git(ctx, "rev-parse", "HEAD")
	if r.moment.Unix() != 0 {
		return nil
	}
	committed, err := r.git(ctx, "show", "--no-patch", "--format=%ct", "HEAD")
	if err != nil {
		return fmt.Errorf("no -time, and %w", err)
	}
	seconds, err := strconv.ParseInt(committed, 10, 64)
	if err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	r.moment = time.Unix(seconds, 0).UTC()
	return nil
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	//nolint:gosec // G204: the arguments are constants and the folder of the source.
	output, err := exec.CommandContext(ctx, "git", append([]string{"-C", r.root}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(output)), nil
}

// check refuses a version that the source is not ready for. Builds between two releases are not held to this.
func (r *release) check() error {
	if !regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]*$`).MatchString(r.version) {
		return fmt.Errorf("version %q cannot be part of a file name", r.version)
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(r.version) {
		return nil
	}
	changes, err := os.ReadFile(filepath.Join(r.root, "docs", "changelog.md"))
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	section := regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(r.version) + ` \(\d{4}-\d\d-\d\d\)$`)
	if !section.Match(changes) {
		return fmt.Errorf("docs/changelog.md has no section %q with its date", "## "+r.version+" (YYYY-MM-DD)")
	}
	settled, err := os.ReadFile(filepath.Join(r.root, "migrations", "settled.txt"))
	if err != nil {
		return fmt.Errorf("read the settled migrations: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(r.root, "migrations", "*.sql"))
	if err != nil {
		return fmt.Errorf("list the migrations: %w", err)
	}
	for _, file := range files {
		if !strings.Contains(string(settled), "  "+filepath.Base(file)+"\n") {
			return fmt.Errorf("migrations/settled.txt does not list %s: run make settle", filepath.Base(file))
		}
	}
	return nil
}

// build writes all files of the release.
func (r *release) build(ctx context.Context, said io.Writer) error {
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil { //nolint:gosec // it is public
		return fmt.Errorf("make the folder of the results: %w", err)
	}
	work, err := os.MkdirTemp("", "simplevalidations-release-")
	if err != nil {
		return fmt.Errorf("make a folder to work in: %w", err)
	}
	var binaries []binary
	for _, p := range r.platforms {
		built, err := r.compile(ctx, work, p)
		if err == nil {
			err = errors.Join(r.archive(built), r.writeMaterials(built))
		}
		if err != nil {
			return errors.Join(err, os.RemoveAll(work))
		}
		binaries = append(binaries, built)
	}
	onLinux := slices.DeleteFunc(slices.Clone(binaries), func(b binary) bool { return b.system != "linux" })
	if len(onLinux) > 0 {
		err = r.writeImage(onLinux)
	}
	if err := errors.Join(err, os.RemoveAll(work)); err != nil {
		return err
	}
	return errors.Join(r.writeSums(said), r.signSums(ctx, said))
}

// path is the path of a result.
func (r *release) path(rest string) string {
	return filepath.Join(r.out, "simplevalidations_"+r.version+"_"+rest)
}

// writeSums writes the checksums of all files, as sha256sum reads them, and prints them.
func (r *release) writeSums(said io.Writer) error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return fmt.Errorf("list the results: %w", err)
	}
	var sums strings.Builder
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return fmt.Errorf("read a result: %w", err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	if err := os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), publicFile); err != nil {
		return fmt.Errorf("write the checksums: %w", err)
	}
	_, err = io.WriteString(said, sums.String())
	return err
}

// signSums signs the checksums. ssh-keygen is on every system where a release may be checked, and takes keys in
// hardware and in an agent.
func (r *release) signSums(ctx context.Context, said io.Writer) error {
	if r.key == "" {
		_, err := io.WriteString(said, "NOT SIGNED: RELEASE_KEY names no SSH key to sign SHA256SUMS with\n")
		return err
	}
	//nolint:gosec // G204: whoever builds a release names the key.
	sign := exec.CommandContext(ctx, "ssh-keygen", "-Y", "sign", "-n", "file", "-f", r.key,
		filepath.Join(r.out, "SHA256SUMS"))
	if output, err := sign.CombinedOutput(); err != nil {
		return fmt.Errorf("sign the checksums: %w: %s", err, output)
	}
	return nil
}
