package main

import (
	"bytes"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"path"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestImage(t *testing.T) {
	t.Parallel()
	layout := untar(t, read(t, resultName("image.tar")), false)
	for name, blob := range layout {
		if sum, isBlob := strings.CutPrefix(name, "blobs/sha256/"); isBlob && sum != "" {
			if got := digest.FromBytes(blob.content).Encoded(); got != sum {
				t.Errorf("digest of %s = %s", name, got)
			}
		}
	}
	var top, list oci.Index
	decode(t, layout["index.json"].content, &top)
	decode(t, blobOf(t, layout, top.Manifests[0]), &list)
	if got := top.Manifests[0].Annotations[oci.AnnotationRefName]; got != testVersion {
		t.Errorf("name of the image = %q, want %s", got, testVersion)
	}
	if at := list.Manifests[0].Platform; at.OS != "linux" || at.Architecture != runtime.GOARCH {
		t.Errorf("platform = %+v", at)
	}
	var manifest oci.Manifest
	var config oci.Image
	decode(t, blobOf(t, layout, list.Manifests[0]), &manifest)
	decode(t, blobOf(t, layout, manifest.Config), &config)
	if len(manifest.Layers) != 1 {
		t.Fatalf("layers = %d, want 1", len(manifest.Layers))
	}
	if got := config.Config; got.User != "65532:65532" || got.StopSignal != "SIGTERM" ||
		got.Labels[oci.AnnotationVersion] != testVersion || cmp.Diff([]string{"serve"}, got.Cmd) != "" {
		t.Errorf("config = %+v", got)
	}

	files := untar(t, blobOf(t, layout, manifest.Layers[0]), true)
	binary := files[path.Base(config.Config.Entrypoint[0])]
	if got := says(t, binary.content, "--version"); got != "simplevalidations "+testVersion+"\n" {
		t.Errorf("version = %q, want %s", got, testVersion)
	}
	hasPrograms(t, files, "")
	parsed, err := elf.NewFile(bytes.NewReader(binary.content))
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := parsed.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("libraries = %v, %v; want none, as the image has none", libraries, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"].content) {
		t.Error("the image has no certificates of authorities")
	}
}

func blobOf(tb testing.TB, layout map[string]unpacked, of oci.Descriptor) []byte {
	tb.Helper()
	blob, ok := layout["blobs/sha256/"+of.Digest.Encoded()]
	if !ok || int64(len(blob.content)) != of.Size {
		tb.Fatalf("blob of %s has %d bytes, want %d", of.MediaType, len(blob.content), of.Size)
	}
	return blob.content
}

func decode(tb testing.TB, text []byte, into any) {
	tb.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		tb.Fatal(err)
	}
}
