package engines

import (
	"strings"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
)

// weight is what a kind of document costs in memory while an engine holds it as a tree. The factors are those of the
// densest documents, measured by TestWeight.
type weight struct {
	// perByte is the memory for each byte of a document, and copies of its text are part of it.
	perByte int64
	// values bounds the memory of the tree beyond four copies of the text, since the number of its values is limited.
	values int64
	// least is the weight of the smallest document.
	least int64
}

const (
	mebibyte   = 1 << 20
	textCopies = 4
	idsMost    = 320 * mebibyte
)

//nolint:gochecknoglobals // They are constants of a type for which Go has none.
var (
	jsonWeight = weight{perByte: 80, values: 256 * mebibyte}
	// yamlWeight is not below what aliases may repeat in a document of any size.
	yamlWeight       = weight{perByte: 192, values: 448 * mebibyte, least: 4 * mebibyte}
	energyPlusWeight = weight{perByte: 96, values: 448 * mebibyte}
	// xmlWeight includes the child process that checks by XML Schema.
	xmlWeight = weight{perByte: 32, values: 512 * mebibyte}
	// schematronWeight includes the sets of nodes that expressions find.
	schematronWeight = weight{perByte: 96, values: 768 * mebibyte}
	// idsWeight is that of a model of which all is kept. The limit on what is kept bounds it by idsMost.
	idsWeight = weight{perByte: 12, values: idsMost, least: 8 * mebibyte}
	// workbookWeight is that of the texts which the cells of a workbook share.
	workbookWeight = weight{perByte: 40, values: 160 * mebibyte, least: 10 * mebibyte}
	// textWeight is that of a document which is sent to another service.
	textWeight = weight{perByte: 2, values: 0}
)

func (w weight) of(size int64) int64 {
	return max(w.least, min(w.perByte*size, textCopies*size+w.values))
}

// any is the weight of a document of any media type.
func (w weight) any(_ string, size int64) int64 {
	return w.of(size)
}

func weighModel(_ string, size int64) int64 {
	return min(idsWeight.of(size), idsMost)
}

func weighTable(mediaType string, size int64) int64 {
	switch mediatype.Canonical(strings.ToLower(mediaType)) {
	case mediatype.XLSX:
		return workbookWeight.of(size)
	case mediatype.Parquet:
		return tablefile.ParquetMemory(size)
	default:
		return 0
	}
}

// weighTree is the weight of a tree in the language of a media type, and that of the heaviest where it names none.
func weighTree(mediaType string, size int64) int64 {
	base, _, _ := strings.Cut(mediaType, ";")
	switch base = strings.TrimSpace(base); {
	case strings.HasSuffix(base, "json"):
		return jsonWeight.of(size)
	case strings.HasSuffix(base, "xml"):
		return xmlWeight.of(size)
	default:
		return yamlWeight.of(size)
	}
}
