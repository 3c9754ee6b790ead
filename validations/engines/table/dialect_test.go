package table_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestTableDialects(t *testing.T) {
	t.Parallel()
	const fields = `"schema": {"fields": [{"name": "a", "type": "string"}, {"name": "b", "type": "integer"}]}`
	tests := []struct {
		name, dialect, table, mediaType string
		want                            []brief
	}{
		{
			"TabByMediaType", `{}`, "a\tb\nx\ty\n", "text/tab-separated-values",
			[]brief{{"csv.type.integer", "b", 2, 3, 1, `b "y" is not an integer`}},
		},
		{"Semicolon", `{"delimiter": ";"}`, "a;b\n1,5;2\n", "text/csv", []brief{}},
		{"OtherQuote", `{"quote": "'"}`, "a,b\n'x,''y',2\n", "text/csv", []brief{}},
		{"NoQuote", `{"quote": ""}`, "a,b\n\"x,2\n", "text/csv", []brief{}},
		{
			"NoHeader", `{"header": false}`, "x,1\ny,z\n", "text/csv",
			[]brief{{"csv.type.integer", "b", 2, 3, 2, `b "z" is not an integer`}},
		},
		{
			"NoHeaderFieldCount", `{"header": false}`, "x\n", "text/csv",
			[]brief{{"csv.row.field_count", "", 1, 1, 1, "row has 1 field, schema has 2"}},
		},
		{
			"Latin1", `{"encoding": "iso-8859-1"}`, "a,b\n\xe9\xe9,z\n", "text/csv",
			[]brief{{"csv.type.integer", "b", 2, 4, 1, `b "z" is not an integer`}},
		},
		{
			"Charset", `{}`, "a,b\n\xe9\xe9,z\n", "text/csv; charset=iso-8859-1",
			[]brief{{"csv.type.integer", "b", 2, 4, 1, `b "z" is not an integer`}},
		},
		{
			"EncodingBeforeCharset", `{"encoding": "utf-8"}`, "a,b\n\xc3\xa9,z\n", "text/csv; charset=iso-8859-1",
			[]brief{{"csv.type.integer", "b", 2, 3, 1, `b "z" is not an integer`}},
		},
		{
			"UTF16", `{}`, "\xff\xfea\x00\t\x00b\x00\n\x00\xe9\x00\t\x00z\x00\n\x00", "text/tab-separated-values",
			[]brief{{"csv.type.integer", "b", 2, 3, 1, `b "z" is not an integer`}},
		},
		{
			"UTF16BigEndian", `{"encoding": "utf-16"}`, "\xfe\xff\x00a\x00,\x00b\x00\n\x00x\x00,\x00z", "text/csv",
			[]brief{{"csv.type.integer", "b", 2, 3, 1, `b "z" is not an integer`}},
		},
		{
			"UTF16IsSaidToBeUTF8", `{"encoding": "utf-8"}`, "\xff\xfea\x00", "text/csv", []brief{{
				"csv.encoding", "", 1, 1, 0, "the header is not text in the table's encoding; it looks like UTF-16, " +
					"leave encoding out of the dialect",
			}},
		},
		{
			"OtherDelimiter", `{}`, "\"a;b\"\nx;1\n", "text/csv", []brief{{
				"csv.header.delimiter", "", 1, 1, 0,
				"the columns seem to be separated by semicolons; set delimiter in the dialect of the step",
			}},
		},
		{
			"HeaderRow", `{"headerRows": [4]}`, "Log \"A\"\n\"x\"y\n\na,b\nx,z\n", "text/csv",
			[]brief{{"csv.type.integer", "b", 5, 3, 1, `b "z" is not an integer`}},
		},
		{"HeaderRowIsBlank", `{"headerRows": [2]}`, "x\n\na,b\nx,1\n", "text/csv", []brief{}},
		{
			"HeaderRows", `{"headerRows": [2, 3]}`, "x\na,\n,b\ny,z\n", "text/csv",
			[]brief{{"csv.type.integer", "b", 4, 3, 1, `b "z" is not an integer`}},
		},
		{
			"HeaderRowBelowTheEnd", `{"headerRows": [4]}`, "a,b\nx,1\n", "text/csv",
			[]brief{{"csv.empty", "", 0, 0, 0, "the table is empty"}},
		},
		{
			"HeaderSeemsToBeBelow", `{}`, "Report\n\nb,a,c\n1,x,2\n", "text/csv", []brief{{
				"csv.header.place", "", 1, 1, 0,
				"the header seems to be in row 3; set headerRows to [3] in the dialect",
			}},
		},
		{
			"Comments", `{"commentChar": "//"}`, "// a \" quote\r\na,b\n// x\n\"//\",1\n/,z\n//", "text/csv",
			[]brief{{"csv.type.integer", "b", 5, 3, 2, `b "z" is not an integer`}},
		},
		{
			"InitialSpaces", `{"skipInitialSpace": true}`, "a,  b\n \"x, y\", 1\nx,  z \nx, ", "text/csv",
			[]brief{{"csv.type.integer", "b", 3, 5, 2, `b "z " is not an integer`}},
		},
		{"ByteOrderMark", `{}`, "\ufeffa,b\nx,1\n", "text/csv", []brief{}},
		{
			"MixedLineEnds", `{}`, "a,b\r\nx,1\ry,2\n\r\nz,q", "text/csv",
			[]brief{
				{"csv.row.blank", "", 4, 1, 0, "1 blank line among the rows"},
				{"csv.type.integer", "b", 5, 3, 3, `b "q" is not an integer`},
			},
		},
		{
			"BlankLines", `{}`, "\na,b\nx,1\n\n\r\ny,2\n\n\n", "text/csv",
			[]brief{
				{"csv.row.blank", "", 1, 1, 0, "1 blank line among the rows"},
				{"csv.row.blank", "", 4, 1, 0, "2 blank lines among the rows"},
			},
		},
		{"QuotedLines", `{}`, "a,b\n\"x\ny\"\"\",q\nz,w\n", "text/csv", []brief{
			{"csv.type.integer", "b", 3, 6, 1, `b "q" is not an integer`},
			{"csv.type.integer", "b", 4, 3, 2, `b "w" is not an integer`},
		}},
		{"InvalidText", `{}`, "a,b\nx\xff,1\n\x00,2\n", "text/csv", []brief{
			{"csv.encoding", "", 2, 2, 1, "the row is not text in the table's encoding"},
			{"csv.encoding", "", 3, 1, 2, "the row is not text in the table's encoding"},
		}},
		{"TextBehindAQuote", `{}`, "a,b\n\"x\"y,1\nz,2\n", "text/csv", []brief{
			{"csv.malformed", "", 2, 4, 1, "text follows the end of a quoted field"},
		}},
		{
			"OpenQuote", `{}`, "a,b\nx,\"1\n2\n", "text/csv",
			[]brief{{"csv.malformed", "", 2, 3, 1, "a quoted field is not closed"}},
		},
		{
			"TooManyFields", `{}`, "a,b\nx,1,2\n", "text/csv",
			[]brief{{"csv.row.field_count", "", 2, 1, 1, "row has 3 fields, header has 2"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, engines.KindTable, `{`+fields+`, "dialect": `+tt.dialect+`}`)
			same(t, tt.want, briefs(run(t, engine, []byte(tt.table), tt.mediaType)))
		})
	}
}

func TestHeaderRowsAreRefused(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{
		`"headerRows": [0]`, `"headerRows": [2, 2]`, `"headerRows": [1001]`, `"headerRows": [1], "header": false`,
	} {
		fault := refused(t, engines.KindTable, `{"schema": {"fields": [{"name": "a"}]}, "dialect": {`+dialect+`}}`)
		same(t, "/dialect/headerRows dialect.header_rows", fault.Pointer+" "+fault.Code)
	}
}
