//go:build slow

package energyplus_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestExampleFiles checks the models in the folder ENERGYPLUS_TRIAL and below, such as the example files of an
// installation. EnergyPlus simulates them, so an error is a mistake of ours.
func TestExampleFiles(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("ENERGYPLUS_TRIAL")
	if folder == "" {
		return
	}
	e, checked := compile(t, engines.KindEnergyPlus, `{}`), 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		extension := strings.ToLower(filepath.Ext(path))
		if err != nil || extension != ".idf" && extension != ".epjson" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		checked++
		report, err := e.Run(t.Context(), engines.NewDocument(content, "", path))
		for _, f := range report.Findings {
			if f.Severity == engines.SeverityError {
				t.Errorf("%s:%d: %s %s: %s", path, f.Line, f.Code, f.Path, f.Message)
			}
		}
		return err
	})
	if err != nil || checked == 0 {
		t.Fatalf("%d models checked in %s, with %v", checked, folder, err)
	}
}
