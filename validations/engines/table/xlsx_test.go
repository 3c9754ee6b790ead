package table_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// workbook writes a workbook with the rows on its first sheet, by a library that is not ours.
func workbook(tb testing.TB, rows [][]any, change func(*excelize.File)) []byte {
	tb.Helper()
	f := excelize.NewFile()
	for i, row := range rows {
		cell, err := excelize.CoordinatesToCellName(1, i+1)
		if err != nil {
			tb.Fatal(err)
		}
		if err := f.SetSheetRow("Sheet1", cell, &row); err != nil {
			tb.Fatal(err)
		}
	}
	if change != nil {
		change(f)
	}
	var content bytes.Buffer
	if err := f.Write(&content); err != nil {
		tb.Fatal(err)
	}
	return content.Bytes()
}

//nolint:ireturn // as compile
func step(tb testing.TB, fields string, more ...string) engines.Engine {
	tb.Helper()
	return compile(tb, engines.KindTable, `{"schema": {"fields": `+fields+`}`+strings.Join(more, "")+`}`)
}

func TestWorkbook(t *testing.T) {
	t.Parallel()
	read := time.Date(2026, time.March, 1, 6, 30, 0, 0, time.UTC)
	day := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	fields := `[{"name": "id", "constraints": {"required": true, "unique": true}},
		{"name": "read_at", "type": "datetime"}, {"name": "day", "type": "date"}, {"name": "kwh", "type": "number"},
		{"name": "count", "type": "integer"}, {"name": "valid", "type": "boolean"}]`
	rows := [][]any{
		{"id", "read_at", "day", "kwh", "count", "valid"},
		{"A", read, day, 1.5, 3, true},
		{"B", "2026-03-01T06:30:00", "2026-03-01", 1e-7, 12, false},
		{"A", read, read, "n/a", 3.5, "maybe"},
		{nil, 45000, "soon", true, 2},
	}
	report := run(t, step(t, fields), workbook(t, rows, nil), mediatype.XLSX)
	same(t, []brief{
		{"csv.unique", "id", 4, 1, 3, `id "A" is a duplicate of row 1`},
		{"csv.type.date", "day", 4, 3, 3, `day "2026-03-01T06:30:00" is not a valid date`},
		{"csv.type.number", "kwh", 4, 4, 3, `kwh "n/a" is not a number`},
		{"csv.type.integer", "count", 4, 5, 3, `count "3.5" is not an integer`},
		{"csv.type.boolean", "valid", 4, 6, 3, `valid "maybe" is not true or false`},
		{"csv.required", "id", 5, 1, 4, "id is missing"},
		{"csv.type.datetime", "read_at", 5, 2, 4, `read_at "45000" is not a valid date-time`},
		{"csv.type.date", "day", 5, 3, 4, `day "soon" is not a valid date`},
		{"csv.type.number", "kwh", 5, 4, 4, `kwh "true" is not a number`},
		{"csv.row.last", "", 5, 1, 4, "only the last row lacks id; if it has totals, the table must end before it"},
	}, briefs(report))
	for _, f := range report.Findings {
		if f.Line == 4 && f.Path == "kwh" {
			same(t, "Sheet1!D4: n/a", f.Excerpt)
		}
	}
}

func TestCellsOfWorkbooks(t *testing.T) {
	t.Parallel()
	format := func(code string) func(*excelize.File) {
		return func(f *excelize.File) {
			style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &code})
			if err == nil {
				err = f.SetCellStyle("Sheet1", "A2", "A2", style)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	from1904 := func(f *excelize.File) {
		yes := true
		if err := f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &yes}); err != nil {
			t.Error(err)
		}
		format("yyyy-mm-dd")(f)
	}
	for name, tt := range map[string]struct {
		field  string
		value  any
		change func(*excelize.File)
		want   string
	}{
		"IsoFormat":         {`"type": "date"`, 46082, format("yyyy-mm-dd"), ""},
		"GermanFormat":      {`"type": "date"`, 46082, format("dd.mm.yyyy"), ""},
		"NoTimeInText":      {`"type": "date"`, 46082, format(`0 "days"`), `a "46082" is not a valid date`},
		"NoTimeInColour":    {`"type": "number"`, 46082, format(`[Red]0.00`), ""},
		"Elapsed":           {`"type": "number"`, 1.5, format("[h]:mm"), `a "1900-01-01T12:00:00" is not a number`},
		"From1904":          {`"type": "date", "constraints": {"minimum": "2030-03-01"}`, 46081, from1904, ""},
		"TimeOfDay":         {`"type": "time", "constraints": {"minimum": "18:00:00"}`, 0.75, format("hh:mm"), ""},
		"Year":              {`"type": "year"`, 2026, nil, ""},
		"YearMonth":         {`"type": "yearmonth"`, 46082, format("mmm yyyy"), ""},
		"Zeros":             {`"constraints": {"pattern": "0[0-9]{4}"}`, 1067, format("00000"), ""},
		"NumberAsText":      {`"constraints": {"pattern": "1067"}`, 1067, nil, ""},
		"LongNumberAsText":  {`"constraints": {"pattern": "4111111111111110"}`, 4111111111111110, nil, ""},
		"TenthOfText":       {`"constraints": {"pattern": "0\\.1"}`, 0.1, nil, ""},
		"TextAsNumber":      {`"type": "number"`, "12.5", nil, ""},
		"LargeInteger":      {`"type": "integer"`, 123456789012, nil, ""},
		"BooleanOfOwnTexts": {`"type": "boolean", "trueValues": ["yes"]`, true, nil, ""},
		"NumberForBoolean":  {`"type": "boolean"`, 1, nil, `a "1" is not true or false`},
		"Escaped":           {`"constraints": {"enum": ["<&> é"]}`, "<&> é", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := workbook(t, [][]any{{"a"}, {tt.value}}, tt.change)
			report := run(t, step(t, `[{"name": "a", `+tt.field+`}]`), content, mediatype.XLSX)
			want := []string{}
			if tt.want != "" {
				want = append(want, tt.want)
			}
			got := []string{}
			for _, f := range report.Findings {
				got = append(got, f.Message)
			}
			same(t, want, got)
		})
	}
}

func TestSheetsOfWorkbooks(t *testing.T) {
	t.Parallel()
	content := workbook(t, [][]any{{"a"}, {"first"}}, func(f *excelize.File) {
		_, err := f.NewSheet("März 2026")
		if err == nil {
			err = f.SetSheetRow("März 2026", "A3", &[]any{"b"})
		}
		if err == nil {
			err = f.SetSheetRow("März 2026", "A5", &[]any{1, "more"})
		}
		if err == nil {
			err = f.SetCellFormula("März 2026", "A6", "1/0")
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("First", func(t *testing.T) {
		t.Parallel()
		same(t, []brief{}, briefs(run(t, step(t, `[{"name": "a"}]`), content, mediatype.XLSX)))
	})
	t.Run("Named", func(t *testing.T) {
		t.Parallel()
		named := step(t, `[{"name": "b", "type": "integer"}]`, `, "dialect": {"sheet": "März 2026"}`)
		same(t, []brief{
			{"csv.row.blank", "", 4, 1, 0, "1 blank line among the rows"},
			{"csv.row.field_count", "", 5, 1, 1, "row has 2 fields, header has 1"},
			{
				"csv.cell_error", "b", 6, 1, 2,
				"b has a formula without a saved value; open the workbook in a spreadsheet program and save it",
			},
		}, briefs(run(t, named, content, mediatype.XLSX)))
	})
	t.Run("Other", func(t *testing.T) {
		t.Parallel()
		same(t, []brief{{
			"csv.header.place", "", 1, 1, 0,
			`the sheet "Sheet1" has no column of the schema, but "März 2026" has them; set sheet in the dialect`,
		}}, briefs(run(t, step(t, `[{"name": "b"}]`), content, mediatype.XLSX)))
	})
	t.Run("Missing", func(t *testing.T) {
		t.Parallel()
		missing := step(t, `[{"name": "b"}]`, `, "dialect": {"sheet": "April"}`)
		message := `the workbook has no sheet "April"; it has "Sheet1", "März 2026"`
		report := run(t, missing, content, mediatype.XLSX)
		same(t, []brief{{Code: "csv.sheet.missing", Message: message}}, briefs(report))
	})
	t.Run("ByName", func(t *testing.T) {
		t.Parallel()
		document := engines.NewDocument(content, mediatype.Binary, "readings.XLSX")
		report, err := step(t, `[{"name": "a"}]`).Run(t.Context(), document)
		if err != nil {
			t.Fatal(err)
		}
		same(t, []brief{}, briefs(report))
	})
}

func TestHeadersOfWorkbooks(t *testing.T) {
	t.Parallel()
	content := workbook(t, [][]any{
		{"Budget", nil, nil, nil, "draft"},
		{},
		{"Year", "Costs", "Costs"},
		{"#", "no unit", "EUR"},
		{nil, "EUR", "USD"},
		{2026, 1.5},
		{"# later", "x"},
		{2027, 2, 3},
	}, nil)
	fields := `[{"name": "Year", "type": "year"}, {"name": "Costs EUR", "type": "number"},
		{"name": "Costs USD", "type": "number", "constraints": {"required": true}}]`
	two := step(t, fields, `, "dialect": {"headerRows": [3, 5], "commentChar": "#"}`)
	same(t, []brief{{"csv.required", "Costs USD", 6, 3, 1, "Costs USD is missing"}},
		briefs(run(t, two, content, mediatype.XLSX)))
	same(t, []brief{{
		"csv.header.place", "", 1, 1, 0, "the header seems to be in row 3; set headerRows to [3] in the dialect",
	}}, briefs(run(t, step(t, `[{"name": "Year"}, {"name": "Costs"}]`), content, mediatype.XLSX)))
}

// rewritten returns the workbook with one of its parts changed.
func rewritten(tb testing.TB, content []byte, part string, change func(string) string) []byte {
	tb.Helper()
	files, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, file := range files.File {
		from, err := file.Open()
		if err != nil {
			tb.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(from); err != nil {
			tb.Fatal(err)
		}
		written := text.String()
		if file.Name == part {
			written = change(written)
		}
		to, err := w.Create(file.Name)
		if err == nil {
			_, err = to.Write([]byte(written))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// A workbook that is damaged or hostile never passes, and takes little memory.
func TestHostileWorkbooks(t *testing.T) {
	t.Parallel()
	const sheet, texts = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
	good := workbook(t, [][]any{{"a"}, {"text"}, {1}}, nil)
	replace := func(from, to string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, from) {
				t.Errorf("%q is not in %s", from, text)
			}
			return strings.Replace(text, from, to, 1)
		}
	}
	limits := engines.DefaultLimits()
	limits.MaxSharedBytes = 1 << 20
	engine := compileWithin(t, engines.KindTable, `{"schema": {"fields": [{"name": "a"}]}}`, limits)
	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"Empty":      {nil, "csv.malformed"},
		"NoArchive":  {[]byte("a,b\n"), "csv.malformed"},
		"OldExcel":   {[]byte("\xd0\xcf\x11\xe0 and more"), "csv.malformed"},
		"CutOff":     {good[:len(good)/2], "csv.malformed"},
		"CutSheet":   {rewritten(t, good, sheet, replace("</sheetData>", "")), "csv.malformed"},
		"BrokenTail": {rewritten(t, good, sheet, replace("</worksheet>", "</work>")), "csv.malformed"},
		"NoSuchText": {rewritten(t, good, sheet, replace("<v>1</v>", "<v>99</v>")), "csv.malformed"},
		"NoNumber":   {rewritten(t, good, sheet, replace(`r="A3"><v>1</v>`, `r="A3"><v>NaN</v>`)), "csv.malformed"},
		"RowsUpward": {rewritten(t, good, sheet, replace(`<row r="3"`, `<row r="1"`)), "csv.malformed"},
		"DocumentType": {
			rewritten(t, good, texts, replace("<sst", `<!DOCTYPE sst [<!ENTITY e "x">]><sst`)), "csv.malformed",
		},
		"LongText": {
			rewritten(t, good, sheet, replace("<v>1</v>", "<v>"+strings.Repeat("1", 34<<20)+"</v>")), "csv.limit.bytes",
		},
		"ManyRows": {
			rewritten(t, good, sheet, replace("</sheetData>", strings.Repeat("<row/>", 1<<20)+"</sheetData>")),
			"csv.limit.rows",
		},
		"ManyTexts": {
			rewritten(t, good, texts, replace("</sst>", strings.Repeat("<si><t>x</t></si>", 1<<17)+"</sst>")),
			"csv.limit.bytes",
		},
		"FarColumn": {rewritten(t, good, sheet, replace(`r="A3"`, `r="XFD3"`)), "csv.limit.columns"},
		"DeepTexts": {
			rewritten(t, good, texts, replace("<t>text</t>", strings.Repeat("<t>", 200)+strings.Repeat("</t>", 200))),
			"csv.malformed",
		},
		"DeepCell": {
			rewritten(t, good, sheet, replace(
				"<v>1</v>", "<v>1</v>"+strings.Repeat("<v>", 200)+strings.Repeat("</v>", 200))),
			"csv.malformed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := run(t, engine, tt.content, mediatype.XLSX)
			if len(report.Findings) == 0 || report.Errors == 0 {
				t.Fatalf("findings = %+v, want %s", report.Findings, tt.want)
			}
			if code := report.Findings[len(report.Findings)-1].Code; code != tt.want {
				t.Errorf("finding = %+v, want %s", report.Findings, tt.want)
			}
		})
	}
}

// A format that is longer than spreadsheets write is not searched for the letters of a time.
func TestLongFormatOfAWorkbook(t *testing.T) {
	t.Parallel()
	for _, length := range []int{10, 2000} {
		code := strings.Repeat("0", length-1) + "y"
		styles := `<styleSheet><numFmts><numFmt numFmtId="200" formatCode="` + code + `"/></numFmts>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="200"/></cellXfs></styleSheet>`
		content := workbook(t, [][]any{{"a"}, {46082}}, nil)
		content = rewritten(t, content, "xl/styles.xml", func(string) string { return styles })
		content = rewritten(t, content, "xl/worksheets/sheet1.xml", func(text string) string {
			return strings.Replace(text, `r="A2"`, `r="A2" s="1"`, 1)
		})
		report := run(t, step(t, `[{"name": "a", "type": "date"}]`), content, mediatype.XLSX)
		if isTime := report.Errors == 0; isTime != (length == 10) {
			t.Errorf("a format of %d characters: findings %+v", length, report.Findings)
		}
	}
}

// ending is a context that ends after it was asked so many times.
type ending struct {
	context.Context //nolint:containedctx // it is one

	left int
}

func (e *ending) Err() error {
	e.left--
	if e.left < 0 {
		return context.Canceled
	}
	return nil
}

// A small archive can hold large parts. Reading one ends with the run.
func TestWorkbookEndsWithItsContext(t *testing.T) {
	t.Parallel()
	good := workbook(t, [][]any{{"a"}, {"text"}}, nil)
	many := func(element, end string) func(string) string {
		return func(text string) string {
			return strings.Replace(text, end, strings.Repeat(element, 100_000)+end, 1)
		}
	}
	for part, change := range map[string]func(string) string{
		"xl/worksheets/sheet1.xml": many("<row/>", "</sheetData>"),
		"xl/sharedStrings.xml":     many("<si/>", "</sst>"),
		"xl/styles.xml":            many("<xf/>", "</cellXfs>"),
		"xl/workbook.xml":          many("<sheet/>", "</sheets>"),
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			ctx := &ending{Context: t.Context(), left: 30}
			document := engines.NewDocument(rewritten(t, good, part, change), mediatype.XLSX, "")
			report, err := step(t, `[{"name": "a"}]`).Run(ctx, document)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("run = %d findings, %v, want %v", len(report.Findings), err, context.Canceled)
			}
		})
	}
}

// FuzzWorkbook looks for workbooks that end a run with an error of ours or a panic.
func FuzzWorkbook(f *testing.F) {
	seed := workbook(f, [][]any{{"a", "b"}, {"text", 1.5}, {true, time.Unix(0, 0)}}, nil)
	const sheet = `<worksheet><sheetData><row><c t="s"><v>0</v></c></row></sheetData></worksheet>`
	f.Add(seed, "xl/worksheets/sheet1.xml", sheet)
	f.Add(seed, "xl/styles.xml", `<styleSheet><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>`)
	f.Add(seed, "xl/sharedStrings.xml", `<sst><si><r><t>a</t></r><rPh><t>b</t></rPh></si></sst>`)
	engine := compile(f, engines.KindTable, `{"schema": {"fields": [{"name": "a"}, {"name": "b", "type": "date"}]}}`)
	f.Fuzz(func(t *testing.T, content []byte, part, text string) {
		if _, err := zip.NewReader(bytes.NewReader(content), int64(len(content))); err == nil {
			content = rewritten(t, seed, part, func(string) string { return text })
		}
		if _, err := json.Marshal(run(t, engine, content, mediatype.XLSX)); err != nil {
			t.Error(err)
		}
	})
}
