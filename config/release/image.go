package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the id of a user and a group that no system has.
const user = "65532"

// image is an OCI image layout while it is written: blobs by their digest.
type image struct {
	blobs []entry
}

// writeImage writes an image for all of the binaries as a tar of an OCI image layout.
func (r *release) writeImage(binaries []binary) error {
	var made image
	var manifests []oci.Descriptor
	for _, built := range binaries {
		manifest, err := r.imageOf(&made, built)
		if err != nil {
			return err
		}
		manifests = append(manifests, manifest)
	}
	list, err := made.addJSON(oci.MediaTypeImageIndex, oci.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex,
		Manifests: manifests, Annotations: r.labels(),
	})
	if err != nil {
		return err
	}
	list.Annotations = map[string]string{oci.AnnotationRefName: r.version}
	index, err := json.Marshal(oci.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex,
		Manifests: []oci.Descriptor{list},
	})
	if err != nil {
		return fmt.Errorf("write the index of the image: %w", err)
	}
	entries := append([]entry{
		{oci.ImageLayoutFile, publicFile, []byte(`{"imageLayoutVersion":"` + oci.ImageLayoutVersion + `"}`)},
		{oci.ImageIndexFile, publicFile, index},
		{oci.ImageBlobsDir + "/", executable, nil},
		{oci.ImageBlobsDir + "/" + digest.SHA256.String() + "/", executable, nil},
	}, made.blobs...)
	var packed bytes.Buffer
	if err := writeTar(&packed, entries, r.moment); err != nil {
		return err
	}
	if err := os.WriteFile(r.path("image.tar"), packed.Bytes(), publicFile); err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	return nil
}

// imageOf adds the image of one platform. It has one layer, and nothing in it has to be writable.
func (r *release) imageOf(made *image, built binary) (oci.Descriptor, error) {
	entries, err := r.files(built)
	if err != nil {
		return oci.Descriptor{}, err
	}
	var plain bytes.Buffer
	if err := writeTar(&plain, entries, r.moment); err != nil {
		return oci.Descriptor{}, err
	}
	packed, err := compress(entries, r.moment)
	if err != nil {
		return oci.Descriptor{}, err
	}
	layer := made.add(oci.MediaTypeImageLayerGzip, packed)
	at := oci.Platform{OS: built.system, Architecture: built.architecture}
	config, err := made.addJSON(oci.MediaTypeImageConfig, oci.Image{
		Created: &r.moment, Platform: at,
		Config: oci.ImageConfig{
			User: user + ":" + user, WorkingDir: "/", Entrypoint: []string{"/" + program}, Cmd: []string{"serve"},
			Env:          []string{"SV_ADDR=0.0.0.0:8000", "SV_LOG_FORMAT=json"},
			ExposedPorts: map[string]struct{}{"8000/tcp": {}}, StopSignal: "SIGTERM", Labels: r.labels(),
		},
		RootFS:  oci.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(plain.Bytes())}},
		History: []oci.History{{Created: &r.moment, CreatedBy: "config/release"}},
	})
	if err != nil {
		return oci.Descriptor{}, err
	}
	manifest, err := made.addJSON(oci.MediaTypeImageManifest, oci.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageManifest,
		Config: config, Layers: []oci.Descriptor{layer}, Annotations: r.labels(),
	})
	manifest.Platform = &at
	return manifest, err
}

// files lists what is in the image.
func (r *release) files(built binary) ([]entry, error) {
	files, err := built.files()
	if err != nil {
		return nil, err
	}
	return append(files, []entry{
		{"etc/", executable, nil},
		{"etc/group", publicFile, []byte("nonroot:x:" + user + ":\n")},
		{"etc/passwd", publicFile, []byte("nonroot:x:" + user + ":" + user + "::/:/simplevalidations\n")},
		{"etc/ssl/", executable, nil},
		{"etc/ssl/certs/", executable, nil},
		{"etc/ssl/certs/ca-certificates.crt", publicFile, certificates()},
	}...), nil
}

// certificates lists the authorities that Mozilla trusts, without those that it trusts under conditions: a file of
// certificates cannot express them.
func certificates() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return text.Bytes()
}

func (r *release) labels() map[string]string {
	labels := map[string]string{
		oci.AnnotationTitle:       program,
		oci.AnnotationDescription: "Validates documents over HTTP and starts each billed run exactly once.",
		oci.AnnotationVersion:     r.version,
		oci.AnnotationLicenses:    "MIT",
		oci.AnnotationCreated:     r.moment.Format("2006-01-02T15:04:05Z"),
	}
	if r.revision != "" {
		labels[oci.AnnotationRevision] = r.revision
	}
	return labels
}

// add adds a blob, and describes it.
func (i *image) add(mediaType string, content []byte) oci.Descriptor {
	sum := digest.FromBytes(content)
	name := strings.Join([]string{oci.ImageBlobsDir, sum.Algorithm().String(), sum.Encoded()}, "/")
	i.blobs = append(i.blobs, entry{name, publicFile, content})
	return oci.Descriptor{MediaType: mediaType, Digest: sum, Size: int64(len(content))}
}

func (i *image) addJSON(mediaType string, value any) (oci.Descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return oci.Descriptor{}, fmt.Errorf("write a part of the image: %w", err)
	}
	return i.add(mediaType, content), nil
}
