package engine

import (
	"os"
	"path/filepath"
	"time"
)

// Limits bound what a document or a configuration may cost. A document beyond a limit gets a finding that names the
// limit, a configuration beyond one is refused.
type Limits struct {
	// MaxFindings is the number of findings a report lists.
	MaxFindings int
	// MaxPerCheck is the number of findings one check lists one by one; the rest is folded into one more.
	MaxPerCheck int
	// MaxExcerpt is the length of an excerpt in characters.
	MaxExcerpt int

	// MaxTreeBytes is the size of a document that is held in memory: JSON, XML or IDF.
	MaxTreeBytes int64
	// MaxYAMLBytes is the same for YAML, whose parser may need a hundred times the size of a dense document.
	MaxYAMLBytes int64
	// MaxDepth is how deep a JSON, YAML or XML document may nest.
	MaxDepth int
	// MaxValues is the number of values of a document that is held in memory. Aliases count as often as they are used.
	MaxValues int
	// MaxAttributes is the number of attributes of one XML element, which XML Schema compares with each other.
	MaxAttributes int
	// MaxSchemaBytes bounds a schema, MaxSubSchemas a JSON Schema, whose compilation takes quadratic time.
	MaxSchemaBytes int
	MaxSubSchemas  int
	// MaxSchemaWork is what checking one document by a JSON Schema may cost, in evaluations of a keyword.
	MaxSchemaWork int64

	// MaxLintTime is the processor time of the child process that checks by XML Schema, MaxLintBytes its memory.
	MaxLintTime  time.Duration
	MaxLintBytes int64

	// Programs is the folder of the programs that steps may name; "" is none. MaxProgramTime is the processor time of
	// such a program.
	Programs       string
	MaxProgramTime time.Duration

	// MaxTableBytes, MaxRows and MaxColumns bound a table, which is read as a stream.
	MaxTableBytes int64
	MaxRows       int
	MaxColumns    int
	// MaxCells is the number of rows times that of columns, which a small file may have without values.
	MaxCells int
	// MaxSharedBytes is the size of the texts that the cells of a workbook share, which are held in memory.
	MaxSharedBytes int64
	// MaxRecordBytes is the length of one row; it ends a quoted field that is never closed.
	MaxRecordBytes int
	// MaxUniqueBytes is the memory for finding duplicates. A million values take 21 MiB.
	MaxUniqueBytes int64

	// MaxRules is the number of rules of a step, MaxRuleChars the length of one expression.
	MaxRules     int
	MaxRuleChars int
	// MaxRuleCost is what one evaluation of an expression may cost in CEL's own units.
	MaxRuleCost uint64
	// MaxDocumentRuleCost is MaxRuleCost for expressions on whole documents.
	MaxDocumentRuleCost uint64
	// MaxStepCost is what all evaluations of a step may cost together. Each row of a table adds MaxRowCost to it, which
	// is more than MaxRules ordinary rules need.
	MaxStepCost uint64
	MaxRowCost  uint64
	// MaxPatternChars is the length of a regular expression, MaxPatternWork its compiled size times its input.
	MaxPatternChars int
	MaxPatternWork  int64
	// MaxPlainPatternChars is the length of one of RE2 that repeats nothing, such as a list of words.
	MaxPlainPatternChars int
	// MaxPatternTime is how long an expression that RE2 does not have may take on one text.
	MaxPatternTime time.Duration
}

// DefaultLimits returns limits that keep a run within seconds and within some hundred megabytes for trees, and within
// 64 MiB for tables.
func DefaultLimits() Limits {
	const mebibyte = 1 << 20
	return Limits{
		MaxFindings: 1000,
		MaxPerCheck: 100,
		MaxExcerpt:  200,

		MaxTreeBytes:   16 * mebibyte,
		MaxYAMLBytes:   4 * mebibyte,
		MaxDepth:       200,
		MaxValues:      1_000_000,
		MaxAttributes:  1000,
		MaxSchemaBytes: mebibyte,
		MaxSubSchemas:  10_000,
		MaxSchemaWork:  100_000_000,

		MaxLintTime:  20 * time.Second,
		MaxLintBytes: 1024 * mebibyte,

		Programs:       programs(),
		MaxProgramTime: 20 * time.Second,

		MaxTableBytes:  1024 * mebibyte,
		MaxRows:        5_000_000,
		MaxColumns:     1000,
		MaxCells:       100_000_000,
		MaxSharedBytes: 64 * mebibyte,
		MaxRecordBytes: mebibyte,
		MaxUniqueBytes: 24 * mebibyte,

		MaxRules:            100,
		MaxRuleChars:        2000,
		MaxRuleCost:         100_000,
		MaxDocumentRuleCost: 30_000_000,
		MaxStepCost:         300_000_000,
		MaxRowCost:          5000,

		MaxPatternChars:      2000,
		MaxPatternWork:       100_000_000,
		MaxPlainPatternChars: 1 << 16,
		MaxPatternTime:       2 * time.Second,
	}
}

// programs is the folder that the operator names, or the one beside this program.
func programs() string {
	//nolint:forbidigo // As PATH says where xmllint is, this says where the programs are.
	if folder := os.Getenv("SV_PROGRAMS"); folder != "" {
		// A program is started in another folder than this one, which is not gone.
		absolute, _ := filepath.Abs(folder)
		return absolute
	}
	this, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(this), "programs")
}
