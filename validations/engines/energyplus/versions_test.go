package energyplus_test

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

// TestEveryClassOfEveryVersion checks objects without fields and with too many of them.
func TestEveryClassOfEveryVersion(t *testing.T) {
	t.Parallel()
	engine := compile(t, engines.KindEnergyPlus, `{}`)
	for _, version := range model.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			d := model.LoadDictionary(version)
			var b strings.Builder
			b.WriteString("Version," + version + ";\n")
			for _, class := range d.Classes {
				if class.Name == "Version" {
					continue
				}
				b.WriteString(class.Name + ";" + class.Name + ",x" + strings.Repeat(",1", len(class.Fields)+50) + ";\n")
			}
			report := checkModel(t, engine, b.String(), "m.idf")
			codes := map[string]bool{}
			for _, f := range report.Findings {
				codes[f.Code] = true
			}
			complete := codes["energyplus.field_count"] && codes["energyplus.field_missing"]
			if codes["energyplus.unknown_class"] || !complete {
				t.Errorf("codes = %v, want counts and missing fields, and no unknown class", codes)
			}
		})
	}
}
