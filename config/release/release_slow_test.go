//go:build slow && linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Another folder, another home and another time of day give the same bytes.
func TestReleaseIsReproducible(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "copy")
	copySource(t, elsewhere)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TZ", "Asia/Kathmandu")
	out := filepath.Join(t.TempDir(), "release")
	if err := buildInto(out, elsewhere, runtime.GOOS+"/"+runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	// The copy has no history, so the image of the first release alone names its commit.
	withoutImage := func(sums []byte) string {
		var kept []string
		for line := range strings.Lines(string(sums)) {
			if !strings.Contains(line, "image.tar") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	first, second := read(t, filepath.Join(built, "SHA256SUMS")), read(t, filepath.Join(out, "SHA256SUMS"))
	if withoutImage(first) != withoutImage(second) {
		t.Errorf("sums differ:\n%s\n%s", first, second)
	}
	again := filepath.Join(t.TempDir(), "again")
	if err := buildInto(again, moduleRoot, runtime.GOOS+"/"+runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(again, "SHA256SUMS")); !bytes.Equal(first, got) {
		t.Errorf("sums differ:\n%s\n%s", first, got)
	}
}

// copySource copies what belongs to the module without its history.
func copySource(tb testing.TB, to string) {
	tb.Helper()
	listed, err := exec.CommandContext(tb.Context(), "git", "-C", moduleRoot, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard").Output()
	if err != nil {
		tb.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		source, target := filepath.Join(moduleRoot, name), filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			tb.Fatal(err)
		}
		found, err := os.Stat(source)
		if err != nil {
			continue // It was deleted, and that is not committed yet.
		}
		if err := os.WriteFile(target, read(tb, source), found.Mode()); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestEveryPlatformCompiles(t *testing.T) {
	t.Parallel()

	for platform := range strings.SplitSeq(allPlatforms, ",") {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "release")
			if err := buildInto(out, moduleRoot, platform); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(out)
			if err != nil {
				t.Fatal(err)
			}
			want := 3 // an archive, its bill of materials and the sums
			if strings.HasPrefix(platform, "linux/") {
				want++ // the image
			}
			if len(entries) != want {
				t.Errorf("files = %v, want %d", entries, want)
			}
		})
	}
}

// Skopeo and umoci (.ci/setup skopeo umoci) read the image as registries and engines do. The program runs from it in a
// root that has nothing else, as the image's user.
func TestImageIsReadByOtherTools(t *testing.T) {
	t.Parallel()
	image := "oci-archive:" + resultName("image.tar") + ":" + testVersion
	var inspected struct {
		Architecture string            `json:"Architecture"`
		Layers       []string          `json:"Layers"`
		Labels       map[string]string `json:"Labels"`
	}
	if err := json.Unmarshal(tool(t, "skopeo", "inspect", image), &inspected); err != nil {
		t.Fatal(err)
	}
	if inspected.Architecture != runtime.GOARCH || len(inspected.Layers) != 1 ||
		inspected.Labels["org.opencontainers.image.version"] != testVersion {
		t.Errorf("skopeo reads %+v", inspected)
	}
	dir := t.TempDir()
	tool(t, "skopeo", "--insecure-policy", "copy", image, "oci:"+filepath.Join(dir, "layout")+":it")
	unpack := []string{"unpack", "--image", filepath.Join(dir, "layout") + ":it", filepath.Join(dir, "bundle")}
	if os.Geteuid() != 0 {
		unpack = slices.Insert(unpack, 1, "--rootless")
	}
	tool(t, "umoci", unpack...)
	cmd := exec.CommandContext(t.Context(), "/simplevalidations", "--version")
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: filepath.Join(dir, "bundle", "rootfs")}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65532, Gid: 65532}
	} else {
		id := func(host int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: 65532, HostID: host, Size: 1}}
		}
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = id(os.Getuid()), id(os.Getgid())
	}
	// The folders of a test are closed to other users.
	for open := filepath.Join(dir, "bundle", "rootfs"); len(open) > len(os.TempDir()); open = filepath.Dir(open) {
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	output, err := cmd.CombinedOutput()
	if err != nil || string(output) != "simplevalidations "+testVersion+"\n" {
		t.Errorf("version in the image = %q, %v", output, err)
	}
}

func tool(tb testing.TB, name string, args ...string) []byte {
	tb.Helper()
	var complaint bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), name, args...)
	cmd.Stderr = &complaint
	output, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%s %v: %v\n%s", name, args, err, complaint.String())
	}
	return output
}
