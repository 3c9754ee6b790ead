//go:build slow && linux

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

// largeDocument is a document that is too large to be written down, its workflow, and what checking it may take.
type largeDocument struct {
	name, file, mediaType string
	kind, config          string
	head, tail            string
	line                  func(i int) string
	// lines ends the document where bytes does not.
	lines, bytes int
	// finding is the code of the only kind of finding, empty where the document is good.
	finding string
	// allowed is the memory above idle in MiB.
	allowed int
}

const (
	million = 1_000_000
	// treeBytes is close below the 16 MiB up to which a document is held in memory, yamlBytes below 4 MiB.
	treeBytes = 16<<20 - 256
	yamlBytes = 4<<20 - 256
	// The memory in MiB that the guide promises.
	tableMemory  = 64
	treeMemory   = 512
	ifcMemory    = 128
	idleMemory   = 16
	pollPause    = 5 * time.Millisecond
	statusOfPeak = "VmHWM:"
)

// TestLargeDocuments measures the memory of the program as it checks files, above what it takes for a document of one
// line. The numbers in the guide are its log.
func TestLargeDocuments(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "simplevalidations")
	// Without the race detector, which takes several times the memory.
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "../../..")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, output)
	}
	documents := append(largeTables(t), largeTrees(t)...)
	for _, large := range append(documents, largeIFC(t)) {
		t.Run(large.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			workflow := filepath.Join(folder, "workflow.yaml")
			text := workflowFile(large.mediaType, large.kind, large.config)
			if err := os.WriteFile(workflow, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			small := large
			small.lines, small.bytes = 1, 0
			idle := checkMeasured(t, program, small.write(t, filepath.Join(folder, "small")), workflow)
			file := large.write(t, filepath.Join(folder, "large"))
			used := checkMeasured(t, program, file, workflow)
			large.judge(t, used)
			above := used.memory - idle.memory
			if above > large.allowed {
				t.Errorf("memory above idle = %d MiB, want at most %d", above, large.allowed)
			}
			found, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("| %s | %.1f MiB | %d MiB | %.1f s | %s |", large.name, float64(found.Size())/(1<<20), above,
				used.took.Seconds(), large.finding)
		})
	}
}

func largeTables(tb testing.TB) []largeDocument {
	tb.Helper()
	readings := largeDocument{
		name: "Table", file: ".csv", mediaType: "text/csv", lines: million, allowed: tableMemory,
		kind: "table", config: fixture.SampleText(tb, "schemas/meter-readings.table-step.json"),
		head: "meter_id,read_at,kwh,quality,tariff\n",
		line: func(i int) string {
			return fmt.Sprintf("MTR-%04d,2026-03-01T00:00:00.%09dZ,1.5,A,day\n", i%10_000, i)
		},
	}
	unique := readings
	unique.name, unique.finding = "TableOfUniqueColumns", "csv.limit.unique"
	unique.config = `{"schema": {"fields": [{"name": "a", "type": "string", "constraints": {"unique": true}},
		{"name": "b", "type": "string", "constraints": {"unique": true}},
		{"name": "c", "type": "string", "constraints": {"unique": true}}]}}`
	unique.head = "a,b,c\n"
	unique.line = func(i int) string { return fmt.Sprintf("A%d,B%d,C%d\n", i, i, i) }
	return []largeDocument{readings, unique}
}

func largeTrees(tb testing.TB) []largeDocument {
	tb.Helper()
	building := largeDocument{
		name: "JSONSchema", file: ".json", mediaType: "application/json", bytes: treeBytes, allowed: treeMemory,
		kind: "json_schema", config: fixture.SampleText(tb, "schemas/building.schema-step.json"),
		head: `{"building": {"id": "BLD-001", "name": "Harbour House", "year_built": 1998, "floor_area_m2": 1e12,
			"envelope": {"u_values": {"wall": 0.35, "roof": 0.22, "window": 1.6}}, "zones": [` + "\n",
		line: func(i int) string {
			return fmt.Sprintf(`{"id": "Z%d", "name": "An office like the others, on the floor of its number",
				"area_m2": 320, "setpoint_c": {"heating": 20, "cooling": 26}},`+"\n", i)
		},
		tail: `{"id": "L", "name": "Lobby", "area_m2": 20, "setpoint_c": {"heating": 20, "cooling": 26}}]}}` + "\n",
	}
	rules := building
	rules.name, rules.kind, rules.config = "Rules", "rules", fixture.SampleText(tb, "schemas/building.rules-step.json")
	refused := building
	refused.name, refused.bytes, refused.finding = "JSON100MB", 100_000_000, "json.too_large"
	refused.allowed = idleMemory
	dense := building
	dense.name, dense.config = "JSONOfManyObjects", `{"schema": {"items": {"type": "object"}}}`
	dense.head, dense.tail, dense.bytes, dense.lines = "[", "{}]\n", 0, million/2-1
	dense.line = func(int) string { return `{"a":0},` }
	yaml := dense
	yaml.name, yaml.file, yaml.mediaType, yaml.bytes = "YAML", ".yaml", "application/yaml", yamlBytes
	yaml.head, yaml.tail = "", ""
	yaml.line = func(i int) string { return fmt.Sprintf("- {id: Z%d, name: Office, area: 320}\n", i) }
	denseYAML := yaml
	denseYAML.name, denseYAML.finding = "YAMLOfManyValues", "yaml.too_large"
	denseYAML.head, denseYAML.tail, denseYAML.line = "[", "0]\n", func(int) string { return "0," }
	return []largeDocument{building, rules, refused, dense, yaml, denseYAML, largeXML(), largeModel(tb)}
}

func largeXML() largeDocument {
	return largeDocument{
		name: "XMLSchema", file: ".xml", mediaType: "application/xml", bytes: treeBytes, allowed: treeMemory,
		kind: "xml",
		config: `{"schema": "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:element name='meters'>` +
			`<xs:complexType><xs:sequence><xs:element name='meter' maxOccurs='unbounded'>` +
			`<xs:complexType><xs:sequence><xs:element name='medium' type='xs:string'/>` +
			`<xs:element name='installed' type='xs:date'/></xs:sequence>` +
			`<xs:attribute name='id' type='xs:string'/></xs:complexType></xs:element></xs:sequence>` +
			`</xs:complexType></xs:element></xs:schema>"}`,
		head: "<meters>\n",
		line: func(i int) string {
			return fmt.Sprintf("  <meter id=\"MTR-%d\">\n    <medium>electricity</medium>\n"+
				"    <installed>2021-05-17</installed>\n  </meter>\n", i)
		},
		tail: "</meters>\n",
	}
}

func largeModel(tb testing.TB) largeDocument {
	tb.Helper()
	return largeDocument{
		name: "EnergyPlus", file: ".idf", mediaType: "text/plain", bytes: treeBytes, allowed: treeMemory,
		kind: "energyplus", config: fixture.SampleText(tb, "schemas/office.energyplus-step.json"),
		head: fixture.SampleText(tb, "good/office.idf"),
		line: func(i int) string {
			return fmt.Sprintf("Zone,\n  Office %d;                !- Name\n"+
				"Floor:Adiabatic,\n  Floor %d,                 !- Name\n  Wall, Office %d, ,        !- Zone Name\n"+
				"  180, 180, 0, 0, 0, 6, 5;\nLights,\n  Lights %d,                !- Name\n"+
				"  Office %d,                !- Zone Name\n  Office Hours, LightingLevel, 100;\n", i, i, i, i, i)
		},
	}
}

// largeIFC is a model of walls with as much geometry as models commonly have.
func largeIFC(tb testing.TB) largeDocument {
	tb.Helper()
	step, err := json.Marshal(map[string]string{"ids": `<ids xmlns="http://standards.buildingsmart.org/IDS"><info>` +
		`<title>Walls</title></info><specifications><specification name="Walls" ifcVersion="IFC4"><applicability ` +
		`maxOccurs="unbounded"><entity><name><simpleValue>IFCWALL</simpleValue></name></entity></applicability>` +
		`<requirements><attribute><name><simpleValue>Name</simpleValue></name></attribute>` +
		`<property dataType="IFCLABEL"><propertySet><simpleValue>Pset_WallCommon</simpleValue></propertySet>` +
		`<baseName><simpleValue>FireRating</simpleValue></baseName></property></requirements></specification>` +
		`</specifications></ids>`})
	if err != nil {
		tb.Fatal(err)
	}
	return largeDocument{
		name: "IFC", file: ".ifc", mediaType: "model/step", bytes: 200 << 20, allowed: ifcMemory,
		kind: "ids", config: string(step),
		head: "ISO-10303-21;\nHEADER;\nFILE_SCHEMA(('IFC4'));\nENDSEC;\nDATA;\n",
		line: func(i int) string {
			const instances = 50
			id := i*instances + 1
			var b strings.Builder
			fmt.Fprintf(&b, "#%d=IFCWALL('0aWall%016d',$,'Basic wall: Brick 300 "+
				"mm:%d',$,$,#%d,#%d,'%d',.SOLIDWALL.);\n"+
				"#%d=IFCRELDEFINESBYPROPERTIES('0aRela%016d',$,$,$,(#%d),#%d);\n"+
				"#%d=IFCPROPERTYSET('0aPset%016d',$,'Pset_WallCommon',$,(#%d,#%d));\n"+
				"#%d=IFCPROPERTYSINGLEVALUE('FireRating',$,IFCLABEL('REI 60'),$);\n"+
				"#%d=IFCPROPERTYSINGLEVALUE('IsExternal',$,IFCBOOLEAN(.T.),$);\n",
				id, i, i, id+5, id+6, i, id+1, i, id, id+2, id+2, i, id+3, id+4, id+3, id+4)
			for n := 5; n < instances; n++ {
				fmt.Fprintf(&b, "#%d=IFCCARTESIANPOINT((%d.25,-1.7320508,3.E-05));\n", id+n, i)
			}
			return b.String()
		},
		tail: "ENDSEC;\nEND-ISO-10303-21;\n",
	}
}

// write writes the document line by line, so that the tests themselves stay small, and returns the file's path.
func (d largeDocument) write(tb testing.TB, path string) string {
	tb.Helper()
	path += d.file
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriter(file)
	size, err := w.WriteString(d.head)
	for i := 0; err == nil && (i < d.lines || d.bytes > 0); i++ {
		line := d.line(i)
		if size += len(line); d.bytes > 0 && size > d.bytes-len(d.tail) {
			break
		}
		_, err = w.WriteString(line)
	}
	if err == nil {
		_, err = w.WriteString(d.tail)
	}
	for _, err := range []error{err, w.Flush(), file.Close()} {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return path
}

// judge compares what was found with what should be.
func (d largeDocument) judge(tb testing.TB, used measured) {
	tb.Helper()
	want := 0
	if d.finding != "" {
		want = 1
	}
	if used.code != want || !strings.Contains(used.output, d.finding) {
		tb.Errorf("exit code = %d, want %d and %s in\n%s", used.code, want, d.finding, used.output)
	}
}

// measured is what checking a document took. The memory is in MiB.
type measured struct {
	memory, code int
	took         time.Duration
	output       string
}

// checkMeasured checks a file and adds the most that the process and one child of it ever held in memory.
func checkMeasured(tb testing.TB, program, file, workflow string) measured {
	tb.Helper()
	var output strings.Builder
	cmd := exec.CommandContext(tb.Context(), program, "check", file, "-w", workflow, "--max-findings", "3")
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start the check: %v", err)
	}
	ctx, ended := context.WithCancel(tb.Context())
	peak := make(chan int)
	go func() { peak <- watchMemory(ctx, cmd.Process.Pid) }()
	_ = cmd.Wait() // How it ended is in its state.
	ended()
	return measured{
		memory: <-peak >> 10, code: cmd.ProcessState.ExitCode(), took: time.Since(began), output: output.String(),
	}
}

// watchMemory reads the high-water marks of a process and its children until the context ends. The kernel's account of
// an ended process would not do: it also counts what the process that started it had held.
func watchMemory(ctx context.Context, pid int) int {
	own, child := 0, 0
	poll := time.NewTicker(pollPause)
	defer poll.Stop()
	for ctx.Err() == nil {
		own = max(own, peakMemory(strconv.Itoa(pid)))
		children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // The pattern is well formed.
		for _, list := range children {
			ids, _ := os.ReadFile(list) // The process may have ended.
			for id := range strings.FieldsSeq(string(ids)) {
				child = max(child, peakMemory(id))
			}
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		}
	}
	return own + child
}

// peakMemory is the most that a process has held so far in KiB, 0 where it has ended.
func peakMemory(pid string) int {
	status, _ := os.ReadFile("/proc/" + pid + "/status") // As above.
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, statusOfPeak); found {
			kibibytes, _ := strconv.Atoi(strings.Fields(text)[0]) // It is a number.
			return kibibytes
		}
	}
	return 0
}
