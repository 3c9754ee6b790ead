package files

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/docs"
)

// FuzzParseFile looks for files that break the parser, and for those that are not read back as they are written.
func FuzzParseFile(f *testing.F) {
	for _, name := range []string{"workflows/building.yaml", "workflows/meter-readings.yaml"} {
		sample, err := docs.Sample(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(sample)
	}
	f.Add([]byte("schema_version: 1\nslug: a\nname: \"\\u0085\"\naccepts: &a [x/y]\nsteps: []\ndescription: |\n  x\n"))
	f.Add([]byte(bomb()))
	parser := newParser(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		file, faults, err := parser.Parse(t.Context(), content)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults {
			if fault.Code == "" || fault.Detail == "" || fault.Line < 0 || fault.Column < 0 {
				t.Errorf("fault = %+v, want a code, a detail and a place", fault)
			}
		}
		if len(faults) > 0 {
			return
		}
		written, err := file.YAML(schemaAddress)
		if err != nil {
			t.Fatal(err)
		}
		wantFile(t.Context(), t, parser, written, file)
	})
}
