//go:build slow

package engines_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/enginetest"
)

// plantedPlaces is at how many places of a good document each fault is planted.
const plantedPlaces = 10

// plantedFault breaks a good document: it replaces what a pattern matches, as regexp does.
type plantedFault struct {
	name, pattern, with string
	// codes are those of findings that tell it, and below how many lines below the match they are.
	codes string
	below int
}

// goodReadings is a table in which each fault has its places.
func goodReadings() string {
	var b strings.Builder
	b.WriteString("meter_id,read_at,kwh,quality,tariff\n")
	for i := range 2 * plantedPlaces {
		fmt.Fprintf(&b, "MTR-10%02d,2026-03-01T%02d:00:00Z,%d.5,A,night\n", i, i, 10+i)
		fmt.Fprintf(&b, "MTR-10%02d,2026-03-02T%02d:00:00Z,0,M,day\n", i, i)
	}
	return b.String()
}

func tableFaults() []plantedFault {
	return []plantedFault{
		{"word for a number", `,\d+\.5,A`, ",n/a,A", "csv.type.number", 0},
		{"number with a unit", `(,\d+\.5),A`, "$1 kWh,A", "csv.type.number", 0},
		{"number with a decimal comma", `,(\d+)\.5,A`, `,"$1,5",A`, "csv.type.number", 0},
		{"number below its minimum", `,(\d+\.5),A`, ",-$1,A", "csv.minimum", 0},
		{"number above its maximum", `,(\d+\.5),A`, ",9$1,A$0", "csv.maximum csv.row.field_count", 0},
		{"value missing", `,\d+\.5,A`, ",,A", "csv.required", 0},
		{"pattern broken", `MTR-(\d+),2026-03-01`, "MTR$1,2026-03-01", "csv.pattern", 0},
		{"value of no list", `,A,`, ",X,", "csv.enum", 0},
		{"value in other case", `,A,`, ",a,", "csv.enum", 0},
		{"date that is none", `2026-03-01T`, "2026-02-30T", "csv.type.datetime", 0},
		{"date in another order", `2026-03-01T`, "01.03.2026T", "csv.type.datetime", 0},
		{"time that is none", `T\d\d:00:00Z,(\d+\.5)`, "T25:00:00Z,$1", "csv.type.datetime", 0},
		{"row twice", `(?m)^(.*,A,night)\n`, "$1\n$1\n", "csv.primary_key", 1},
		{"field missing", `(?m),night$`, "", "csv.row.field_count", 0},
		{"field too many", `(?m),night$`, ",night,1", "csv.row.field_count", 0},
		{"row empty", `(?m)^(MTR-.*,A,night)\n`, "$1\n\n", "csv.row.blank", 1},
		{"quote within a row", `(?m)^MTR-(\d+),2026-03-01`, `"MTR"-$1,2026-03-01`, "csv.malformed", 0},
		{"quote not closed", `,night\n`, ",\"night\n", "csv.malformed", 0},
		{"text in another encoding", `,A,`, ",\xc4,", "csv.encoding", 0},
		{"rule broken", `,0,M`, ",0.1,M", "rule.missing_is_zero", 0},
	}
}

// goodBuilding is a document in JSON whose values stand in lines of their own.
func goodBuilding() string {
	var b strings.Builder
	b.WriteString(`{"building": {"id": "BLD-001", "name": "House", "year_built": 1998,` + "\n" +
		`"floor_area_m2": 1240.5, "envelope": {"u_values": {"wall": 0.35, "roof": 0.22, "window": 1.6}},` +
		"\n\"zones\": [")
	for i := range 2 * plantedPlaces {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n{\n\"id\": \"Z%d\",\n\"name\": \"Zone\",\n\"area_m2\": %d.5,\n", i, 20+i)
		b.WriteString("\"setpoint_c\": {\n\"heating\": 20,\n\"cooling\": 26\n}\n}")
	}
	return b.String() + "\n]}}\n"
}

func documentFaults() []plantedFault {
	return []plantedFault{
		{"text for a number", `"area_m2": (\d+\.5)`, `"area_m2": "$1"`, "schema.type", 0},
		{"number for a text", `"name": "Zone"`, `"name": 7`, "schema.type", 0},
		{"null for a number", `"area_m2": \d+\.5`, `"area_m2": null`, "schema.type", 0},
		{"truth for a text", `"name": "Zone"`, `"name": true`, "schema.type", 0},
		{"list for an object", `\{\n"heating": 20,\n"cooling": 26\n\}`, "[20, 26]", "schema.type", 0},
		{"number for an object", `\{\n"heating": 20,\n"cooling": 26\n\}`, "20", "schema.type", 0},
		{"number at an excluded minimum", `"area_m2": \d+\.5`, `"area_m2": 0`, "schema.exclusiveMinimum", 0},
		{"number below its minimum", `"heating": 20`, `"heating": -20`, "schema.minimum", 0},
		{"number above its maximum", `"cooling": 26`, `"cooling": 260`, "schema.maximum", 0},
		{"member missing", `\n"name": "Zone",`, "", "schema.required", -1},
		{"member misspelt", `"area_m2"`, `"aera_m2"`, "schema.additionalProperties", 0},
		{"member too many", `"heating": 20`, `"heating": 20, "fan": 1`, "schema.additionalProperties", 0},
		{"member twice", `"heating": 20`, `"heating": 20, "heating": 21`, "json.duplicate_name", 0},
		{"comma missing", `"heating": 20,`, `"heating": 20`, "json.malformed", 0},
		{"comma too many", `"cooling": 26`, `"cooling": 26,`, "json.malformed", 0},
		{"colon missing", `"cooling": 26`, `"cooling" 26`, "json.malformed", 0},
		{"quote missing", `"cooling": 26`, `"cooling: 26`, "json.malformed", 0},
		{"quotes of another kind", `"Zone"`, `'Zone'`, "json.malformed", 0},
		{"number with a leading zero", `"heating": 20`, `"heating": 020`, "json.malformed", 0},
		{"number that is none", `"heating": 20`, `"heating": NaN`, "json.malformed", 0},
		{"number out of range", `"heating": 20`, `"heating": 1e400`, "json.number_range", 0},
		{"comment", `"heating": 20,`, `"heating": 20, // warm`, "json.malformed", 0},
		{"bracket missing", `"cooling": 26\n\}`, `"cooling": 26`, "json.malformed", 2},
	}
}

// goodMeters is a document in XML.
func goodMeters() string {
	var b strings.Builder
	b.WriteString("<meters xmlns=\"https://harbour.example/meters\" site=\"BLD-001\">\n")
	for i := range 2 * plantedPlaces {
		fmt.Fprintf(&b, "  <meter id=\"MTR-%d\">\n    <medium>heat</medium>\n", 1000+i)
		b.WriteString("    <installed>2021-05-17</installed>\n    <digits>6</digits>\n  </meter>\n")
	}
	return b.String() + "</meters>\n"
}

func xmlFaults() []plantedFault {
	return []plantedFault{
		{"element misspelt", `<medium>heat</medium>`, "<medum>heat</medum>", "xml.schema", 0},
		{"element missing", `\n    <medium>heat</medium>`, "", "xml.schema", 1},
		{"element twice", `(<medium>heat</medium>)`, "$1$1", "xml.schema", 0},
		{"elements in another order", `(<medium>.*)\n    (<installed>.*)`, "$2\n    $1", "xml.schema", 0},
		{"element that does not belong here", `<digits>`, "<meters/><digits>", "xml.schema", 0},
		{"element of no namespace", `<digits>6`, `<digits xmlns="">6`, "xml.schema", 0},
		{"text beside elements", `(<medium>)`, "text $1", "xml.schema", -1},
		{"value of no list", `heat`, "steam", "xml.schema", 0},
		{"value in other case", `heat`, "Heat", "xml.schema", 0},
		{"value missing", `heat`, "", "xml.schema", 0},
		{"date that is none", `2021-05-17`, "2021-02-30", "xml.schema", 0},
		{"date in another order", `2021-05-17`, "17.05.2021", "xml.schema", 0},
		{"number out of range", `>6<`, ">13<", "xml.schema", 0},
		{"word for a number", `>6<`, ">six<", "xml.schema", 0},
		{"attribute missing", ` id="MTR-\d+"`, "", "xml.schema", 0},
		{"attribute misspelt", ` id="(MTR-\d+)"`, ` ID="$1"`, "xml.schema", 0},
		{"attribute too many", `<medium>`, `<medium unit="kWh">`, "xml.schema", 0},
		{"attribute with another pattern", `MTR-(\d+)`, "MTR$1", "xml.schema", 0},
		{"key twice", `(?s)(id="MTR-\d+">)(.*?)id="MTR-\d+">`, "$1$2$1", "xml.schema", 5},
		// The finding is where another element ends, and names the line of the open one.
		{"element not closed", `</medium>`, "", "xml.malformed", 3},
		{"element closed by another", `</medium>`, "</media>", "xml.malformed", 0},
		{"attribute without quotes", `id="(MTR-\d+)"`, "id=$1", "xml.malformed", 0},
		{"attribute twice", `(id="MTR-\d+")`, "$1 $1", "xml.malformed", 0},
		{"ampersand", `heat`, "heat & gas", "xml.entity", 0},
		{"less-than sign", `>6<`, ">6<7<", "xml.malformed", 0},
		{"unknown entity", `heat`, "&heat;", "xml.malformed xml.entity", 0},
	}
}

// TestPlantedFaultsAreFoundAtTheirLine breaks good documents and logs how many of the faults were found.
func TestPlantedFaultsAreFoundAtTheirLine(t *testing.T) {
	t.Parallel()
	sample := func(name string) string {
		content, err := os.ReadFile("../../docs/samples/schemas/" + name)
		if err != nil {
			t.Fatalf("read sample: %v", err)
		}
		return string(content)
	}
	tests := []struct {
		kind, config, document, mediaType string
		faults                            []plantedFault
	}{
		{engines.KindTable, sample("meter-readings.table-step.json"), goodReadings(), "text/csv", tableFaults()},
		{
			engines.KindJSONSchema, schemaStep(sample("building.schema.json")), goodBuilding(), "application/json",
			documentFaults(),
		},
		{engines.KindXML, xmlStep(t, sample("meters.xsd")), goodMeters(), "application/xml", xmlFaults()},
		{engines.KindEnergyPlus, "{}", goodModel(), "text/plain", modelFaults()},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, tt.kind, tt.config)
			report := enginetest.Run(t, engine, []byte(tt.document), tt.mediaType)
			if len(report.Findings) > 0 {
				t.Fatalf("findings = %+v, want none without a fault", report.Findings)
			}
			planted, found := 0, 0
			for _, fault := range tt.faults {
				for _, at := range places(t, tt.document, fault) {
					broken, line := fault.apply(tt.document, at)
					report := enginetest.Run(t, engine, []byte(broken), tt.mediaType)
					planted++
					if fault.isFound(report, line) {
						found++
						continue
					}
					t.Errorf("%s in line %d: findings = %+v", fault.name, line, report.Findings)
				}
			}
			t.Logf("%s: %d faults of %d kinds, %d found at their line", tt.kind, planted, len(tt.faults), found)
		})
	}
}

// places are the matches of a fault's pattern that are far from each other.
func places(tb testing.TB, document string, fault plantedFault) [][]int {
	tb.Helper()
	all := regexp.MustCompile(fault.pattern).FindAllStringSubmatchIndex(document, -1)
	if len(all) < plantedPlaces {
		tb.Fatalf("%s: %d places, want %d", fault.name, len(all), plantedPlaces)
	}
	picked := [][]int{}
	for i := range plantedPlaces {
		picked = append(picked, all[i*len(all)/plantedPlaces])
	}
	return picked
}

// apply returns the broken document and the line of the fault.
func (f plantedFault) apply(document string, at []int) (string, int) {
	with := f.with
	for i := len(at)/2 - 1; i >= 0; i-- {
		with = strings.ReplaceAll(with, "$"+strconv.Itoa(i), document[at[2*i]:at[2*i+1]])
	}
	broken := document[:at[0]] + with + document[at[1]:]
	return broken, 1 + strings.Count(document[:at[0]], "\n") + f.below
}

func (f plantedFault) isFound(report engines.Report, line int) bool {
	for _, finding := range report.Findings {
		isCode := strings.Contains(" "+f.codes+" ", " "+finding.Code+" ")
		if isCode && finding.Severity == engines.SeverityError && finding.Line == line {
			return true
		}
	}
	return false
}
