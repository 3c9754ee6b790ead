package energyplus_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestHostileModels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, filename, model string
		want                  brief
	}{
		{
			"Unterminated", "m.idf", "Version,23.2;\r\n  Building,A,\r\n 0",
			brief{"energyplus.malformed", "", 2, 3, 0, "the object Building does not end with a semicolon"},
		},
		{
			"Binary", "m.idf", "\x89PNG\r\n\x1a\n\x00",
			brief{"energyplus.malformed", "", 3, 1, 0, "the file contains NUL, so it is not a text"},
		},
		{
			"MillionFields", "m.idf", "A" + strings.Repeat(",1", 1_000_001) + ";",
			brief{"energyplus.too_large", "", 1, 2_000_003, 0, "the model has more than 1000000 fields"},
		},
		{
			"Size", "m.idf", strings.Repeat(" ", 17<<20),
			brief{"energyplus.too_large", "", 0, 0, 0, "the document has 17825792 bytes, at most 16777216 are checked"},
		},
		{
			"EpJSONDepth", "m.epJSON", strings.Repeat(`{"a":`, 100_000),
			brief{"json.depth", "", 1, 1001, 0, "nested deeper than 200 levels"},
		},
		{
			"NoCommaBeforeANumber", "m.idf",
			complete("Schedule:Compact,S,,Through: 12/31,For: AllDays,Until: 8:00,1\r\n Until: 24:00,0;"),
			brief{"energyplus.comma", "", 1, 62, 0, "a comma is missing at the end of this line; EnergyPlus reads on"},
		},
	}
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, []brief{tt.want}, briefs(checkModel(t, engine, tt.model, tt.filename)))
		})
	}

	t.Run("LineEndsAndCommentsMayMix", func(t *testing.T) {
		t.Parallel()
		model := "\ufeff! é\rVersion,!x\r\n23.2 ! y\n;Timestep,4;\r\n\r\nSimulationControl;Building,Straße;" +
			"\tGlobalGeometryRules,UpperLeftCorner,Clockwise\n,World;! end"
		same(t, []brief{}, briefs(checkModel(t, engine, model, "")))
	})

	t.Run("OldEncodingsAreWarnedOf", func(t *testing.T) {
		t.Parallel()
		report := checkModel(t, engine, complete("! 90\xb0\n"), "m.idf")
		message := "the text is not UTF-8; characters other than ASCII may be misread"
		same(t, []brief{{"energyplus.encoding", "", 1, 5, 0, message}}, briefs(report))
		same(t, 0, report.Errors)
		names := complete("Zone,B\xfcro;Zone,B\xf6ro;ZoneList,L,B\xf6ro;")
		withoutSurfaces := compile(t, engines.KindEnergyPlus, `{"checks": {"zone_surfaces": "OFF"}}`)
		same(t, 0, checkModel(t, withoutSurfaces, names, "m.idf").Errors)
	})

	t.Run("ManyFaultsAreCountedAndFolded", func(t *testing.T) {
		t.Parallel()
		for form, model := range map[string]string{
			"m.idf":    complete(strings.Repeat("Construction,C,M;", 20_000)),
			"m.epJSON": `{"Construction": {` + manyConstructions(20_000) + `"Z": {"outside_layer": "X"}}}`,
		} {
			report := checkModel(t, engine, model, form)
			if report.Errors < 20_000 || !report.Truncated || len(report.Findings) > 1000 {
				t.Errorf("%s: %d errors in %d findings, want all counted in at most 1000",
					form, report.Errors, len(report.Findings))
			}
		}
	})

	t.Run("ManyClassesAndLongNames", func(t *testing.T) {
		t.Parallel()
		var b strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&b, "Class%d,%d;\n", i, i)
		}
		b.WriteString("Zone," + strings.Repeat("x", 1<<20) + ";")
		report := checkModel(t, engine, complete(b.String()), "m.idf")
		same(t, []string{"energyplus.unknown_class"}, []string{report.Findings[0].Code})
	})

	t.Run("LongNamesAndManyVerticesTakeLinearTime", func(t *testing.T) {
		t.Parallel()
		var b strings.Builder
		b.WriteString("Zone,Z; DemandManager:Lights,D,,,,,,,,," + strings.Repeat("z ", 1<<20) + ";\n")
		for i := range 20 {
			fmt.Fprintf(&b, "Lights,L%d,Z,S;", i)
		}
		b.WriteString("Wall:Detailed,W,C,Z,,Outdoors,,,,0,")
		for i := range 200_000 {
			fmt.Fprintf(&b, ",%d,%d,0", i, i*i%97)
		}
		b.WriteString(";")
		report := checkModel(t, engine, complete(b.String()), "m.idf")
		codes := []string{}
		for _, f := range report.Findings {
			codes = append(codes, f.Code)
		}
		if !slices.Contains(codes, "energyplus.unknown_object") || slices.Contains(codes, "energyplus.zone_open") {
			t.Errorf("codes = %q, want an unknown object and no open zone", codes)
		}
	})

	t.Run("ContentThatEndsEarlyIsNoPass", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"m.idf", "m.epJSON", ""} {
			doc := engines.Document{Content: strings.NewReader("{}"), Size: 10, Filename: name}
			if _, err := engine.Run(t.Context(), doc); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				t.Errorf("error = %v, want unexpected EOF", err)
			}
		}
	})
}

func manyConstructions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"C%d": {"outside_layer": "M"},`, i)
	}
	return b.String()
}
