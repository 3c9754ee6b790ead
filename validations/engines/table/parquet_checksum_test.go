package table_test

import (
	"bytes"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
)

func TestParquetChecksumOfDictionary(t *testing.T) {
	t.Parallel()
	type row struct {
		Quality string `parquet:"quality,dict"`
	}
	content := parquetOf(t, row{"measured"}, row{"estimated"}, row{"measured"})
	at := bytes.Index(content, []byte("estimated"))
	if at < 0 {
		t.Fatal("the file has no dictionary")
	}
	engine := step(t, `[{"name": "quality"}]`)
	same(t, []brief{}, briefs(run(t, engine, content, mediatype.Parquet)))
	content[at] = 'E'
	same(t, []brief{{Code: "csv.malformed", Message: "the file cannot be read: a page does not have its checksum"}},
		briefs(run(t, engine, content, mediatype.Parquet)))
}
