package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeMaterials writes the software bill of materials of a binary and its programs. It is read from the files
// themselves, so that it names what was linked and not what go.mod allows.
func (r *release) writeMaterials(built binary) error {
	info, modules, err := built.linked()
	if err != nil {
		return err
	}
	product := cyclonedx.Component{
		BOMRef: "pkg:golang/" + info.Main.Path + "@v" + r.version, Type: cyclonedx.ComponentTypeApplication,
		Name: program, Version: r.version, PackageURL: "pkg:golang/" + info.Main.Path + "@v" + r.version,
	}
	release := strings.TrimPrefix(info.GoVersion, "go")
	components := []cyclonedx.Component{{
		BOMRef: "pkg:golang/std@" + release, Type: cyclonedx.ComponentTypeLibrary,
		Name: "std", Version: release, PackageURL: "pkg:golang/std@" + release,
	}}
	for _, module := range modules {
		component, err := componentOf(module)
		if err != nil {
			return err
		}
		components = append(components, component)
	}
	refs := make([]string, len(components))
	for i, component := range components {
		refs[i] = component.BOMRef
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(product.PackageURL+"?"+built.String())).URN()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.moment.Format(time.RFC3339), Component: &product}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: product.BOMRef, Dependencies: &refs}}
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	if err := os.WriteFile(r.path(built.String()+".cdx.json"), text.Bytes(), publicFile); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return nil
}

// linked returns what the program says of itself, and the modules that are linked into it or its programs.
func (b binary) linked() (*debug.BuildInfo, []*debug.Module, error) {
	info, err := buildinfo.ReadFile(filepath.Join(b.folder, program))
	if err != nil {
		return nil, nil, fmt.Errorf("read what was linked: %w", err)
	}
	modules := info.Deps
	for _, name := range b.programs {
		own, err := buildinfo.ReadFile(filepath.Join(b.folder, filepath.FromSlash(programsFolder), name))
		if err != nil {
			return nil, nil, fmt.Errorf("read what was linked: %w", err)
		}
		for _, module := range own.Deps {
			isOurs := strings.HasPrefix(module.Path+"/", info.Main.Path+"/")
			isKnown := slices.ContainsFunc(modules, func(m *debug.Module) bool {
				return m.Path == module.Path && m.Version == module.Version
			})
			if !isOurs && !isKnown {
				modules = append(modules, module)
			}
		}
	}
	return info, modules, nil
}

func componentOf(module *debug.Module) (cyclonedx.Component, error) {
	if module.Replace != nil {
		return cyclonedx.Component{}, fmt.Errorf("%s is replaced, so go install cannot build the release", module.Path)
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:"))
	if err != nil {
		return cyclonedx.Component{}, fmt.Errorf("read the sum of %s: %w", module.Path, err)
	}
	ref := "pkg:golang/" + module.Path + "@" + module.Version
	return cyclonedx.Component{
		BOMRef: ref, Type: cyclonedx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: ref,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}},
	}, nil
}
