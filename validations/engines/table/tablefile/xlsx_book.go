package tablefile

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// workbook is what an Office Open XML file has beside its sheets.
type workbook struct {
	files    *zip.Reader
	size     int64
	limits   engine.Limits
	sheets   []sheetEntry
	strings  sharedStrings
	styles   cellStyles
	from1904 bool
}

type sheetEntry struct {
	name string
	part string
}

// The ends of the types of relationships, whose beginnings differ between the two variants of the format.
const (
	relatedWorkbook  = "/officeDocument"
	relatedSheet     = "/worksheet"
	relatedStrings   = "/sharedStrings"
	relatedStyles    = "/styles"
	maxWorkbookBytes = 4 << 20
	maxWorkbookParts = 10_000
)

func openWorkbook(
	ctx context.Context, content io.ReaderAt, size int64, limits engine.Limits,
) (*workbook, error) {
	files, err := zip.NewReader(content, size)
	if err != nil {
		return nil, noWorkbook(content, err)
	}
	if len(files.File) > maxWorkbookParts {
		return nil, malformedWorkbook(fmt.Errorf("it has more than %d parts", maxWorkbookParts))
	}
	b := &workbook{files: files, size: size, limits: limits}
	root, err := b.related(ctx, "")
	if err != nil {
		return nil, err
	}
	main := partOf(root, relatedWorkbook)
	if main == "" {
		return nil, malformedWorkbook(errors.New("it contains no workbook; is it another kind of Office file?"))
	}
	parts, err := b.related(ctx, main)
	if err != nil {
		return nil, err
	}
	if err := b.readSheets(ctx, main, parts); err != nil {
		return nil, err
	}
	if part := partOf(parts, relatedStyles); part != "" {
		if err := b.readStyles(ctx, part); err != nil {
			return nil, err
		}
	}
	if part := partOf(parts, relatedStrings); part != "" {
		// Texts are kept in memory, so they may expand only as texts do.
		const expansion = 16
		allowed := min(limits.MaxSharedBytes, expansion*size+maxWorkbookBytes)
		if err := b.readStrings(ctx, part, allowed); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// noWorkbook says what a file is if it is not a ZIP archive.
func noWorkbook(content io.ReaderAt, err error) error {
	var head [2]byte
	if _, readErr := content.ReadAt(head[:], 0); readErr != nil && !errors.Is(readErr, io.EOF) {
		return fmt.Errorf("read table: %w", readErr)
	}
	if head == [2]byte{0xd0, 0xcf} {
		return final("csv.malformed",
			"the workbook is protected by a password, or is an old .xls; save it as .xlsx without a password")
	}
	return malformedWorkbook(err)
}

// sheet finds a sheet by its name, or the first one for no name.
func (b *workbook) sheet(name string) (sheetEntry, error) {
	if len(b.sheets) == 0 {
		return sheetEntry{}, malformedWorkbook(errors.New("it has no sheets"))
	}
	names := []string{}
	for _, sheet := range b.sheets {
		if sheet.name == name || name == "" {
			return sheet, nil
		}
		names = append(names, engine.Quote(sheet.name))
	}
	return sheetEntry{}, final("csv.sheet.missing", "the workbook has no sheet %s; it has %s", engine.Quote(name),
		engine.ClipTo(strings.Join(names, ", "), engine.MaxMessage))
}

// open reads a part. The size that the archive declares is a limit: the library reads no more than that.
func (b *workbook) open(ctx context.Context, name string, limit int64) (*xmlParts, error) {
	at := slices.IndexFunc(b.files.File, func(f *zip.File) bool { return strings.EqualFold(f.Name, name) })
	if at < 0 {
		return nil, malformedWorkbook(fmt.Errorf("it lacks %s", engine.Quote(name)))
	}
	file := b.files.File[at]
	if file.UncompressedSize64 > uint64(limit) { //nolint:gosec // limits are positive
		return nil, final("csv.limit.bytes", "%s has %d bytes, at most %d are checked; export the sheet as CSV",
			engine.Quote(name), file.UncompressedSize64, limit)
	}
	content, err := file.Open()
	if err != nil {
		return nil, malformedWorkbook(err)
	}
	most := b.limits.MaxRecordBytes
	source := &boundedReader{source: content, left: most, limit: most, ended: ctx.Err}
	return &xmlParts{decoder: xml.NewDecoder(source), source: source}, nil
}

// decode reads a part that is small enough to be held in memory.
func (b *workbook) decode(ctx context.Context, name string, into any) error {
	parts, err := b.open(ctx, name, maxWorkbookBytes)
	if err != nil {
		return err
	}
	// The tokens are those of parts, which bounds them.
	if err := xml.NewTokenDecoder(parts).Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return parts.toEnd()
}

// relation is a part that another one refers to.
type relation struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:",attr"`
	Target string `xml:",attr"`
	Mode   string `xml:"TargetMode,attr"`
}

// related reads what a part refers to; that of the archive as a whole is "".
func (b *workbook) related(ctx context.Context, part string) ([]relation, error) {
	var found struct {
		Relationship []relation
	}
	dir, base := path.Split(part)
	err := b.decode(ctx, dir+"_rels/"+base+".rels", &found)
	for i, r := range found.Relationship {
		if !strings.HasPrefix(r.Target, "/") {
			r.Target = path.Join("/", dir, r.Target)
		}
		found.Relationship[i].Target = strings.TrimPrefix(r.Target, "/")
	}
	return slices.DeleteFunc(found.Relationship, func(r relation) bool { return r.Mode == "External" }), err
}

// partOf is the first part of a kind, or "".
func partOf(relations []relation, kind string) string {
	for _, r := range relations {
		if strings.HasSuffix(r.Type, kind) {
			return r.Target
		}
	}
	return ""
}

func (b *workbook) readSheets(ctx context.Context, main string, parts []relation) error {
	var book struct {
		Properties struct {
			From1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name string `xml:"name,attr"`
			// The id of a relationship has another namespace in each of the two variants of the format.
			ID     string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
			Strict string `xml:"http://purl.oclc.org/ooxml/officeDocument/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	if err := b.decode(ctx, main, &book); err != nil {
		return err
	}
	b.from1904 = book.Properties.From1904 == "1" || book.Properties.From1904 == "true"
	for _, sheet := range book.Sheets {
		// Sheets of charts have no rows.
		at := slices.IndexFunc(parts, func(r relation) bool {
			return r.ID == cmp.Or(sheet.ID, sheet.Strict) && strings.HasSuffix(r.Type, relatedSheet)
		})
		if at >= 0 {
			b.sheets = append(b.sheets, sheetEntry{sheet.Name, parts[at].Target})
		}
	}
	return nil
}

// sharedStrings are the texts of a workbook, one after the other.
type sharedStrings struct {
	text []byte
	ends []int
}

func (s *sharedStrings) at(i int) []byte {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.text[start:s.ends[i]:s.ends[i]]
}

// readStrings keeps the texts of a workbook. What they take in memory is below their size in the file.
func (b *workbook) readStrings(ctx context.Context, part string, allowed int64) error {
	parts, err := b.open(ctx, part, allowed)
	if err != nil {
		return err
	}
	for {
		token, err := parts.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.EndElement:
			if t.Name.Local == "si" {
				b.strings.ends = append(b.strings.ends, len(b.strings.text))
			}
		case xml.CharData:
			// Phonetic hints (rPh) are no part of a text.
			if n := len(parts.path); n > 0 && parts.path[n-1] == "t" && !slices.Contains(parts.path, "rPh") {
				b.strings.text = append(b.strings.text, t...)
			}
		}
	}
}

// cellStyle is what the format of a cell says of the meaning of its number.
type cellStyle struct {
	isTime bool
	// digits is the number of digits of a format such as 00000, 0 for others.
	digits int
}

type cellStyles []cellStyle

func (s cellStyles) of(index string) cellStyle {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(s) {
		return cellStyle{}
	}
	return s[i]
}

func (b *workbook) readStyles(ctx context.Context, part string) error {
	var sheet struct {
		Formats []struct {
			ID   string `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Styles []struct {
			Format string `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	if err := b.decode(ctx, part, &sheet); err != nil {
		return err
	}
	formats, known := map[string]string{}, map[string]cellStyle{}
	for _, format := range sheet.Formats {
		formats[format.ID] = format.Code
	}
	for _, style := range sheet.Styles {
		if _, isKnown := known[style.Format]; !isKnown {
			known[style.Format] = styleOf(style.Format, formats)
		}
		b.styles = append(b.styles, known[style.Format])
	}
	return nil
}

// maxFormatCode is the length of a number format that spreadsheets accept. A longer one says nothing.
const maxFormatCode = 255

// styleOf reads a number format: one of the built-in ones of dates and times (ECMA-376 part 1, 18.8.30), or a code.
func styleOf(id string, formats map[string]string) cellStyle {
	if code, ok := formats[id]; ok {
		if len(code) > utf8.UTFMax*maxFormatCode {
			return cellStyle{}
		}
		digits := 0
		if strings.Trim(code, "0") == "" {
			digits = len(code)
		}
		return cellStyle{isTime: isTimeCode(code), digits: digits}
	}
	number, err := strconv.Atoi(id)
	if err != nil {
		return cellStyle{}
	}
	within := func(first, last int) bool { return number >= first && number <= last }
	return cellStyle{isTime: within(14, 22) || within(27, 36) || within(45, 47) || within(50, 58)}
}

// formatPart is a text, an escaped character, an elapsed time, something else in brackets, the word General, the end of
// a section, or a letter of dates and times.
var formatPart = regexp.MustCompile(
	`(?is)"[^"]*"?|[\\_*].?|(\[[hms]+(?:\]|$))|\[[^\]]*\]?|general|(;)|([dmyhs])`)

// isTimeCode reports whether the first section of a number format has letters of dates or times outside of texts.
func isTimeCode(code string) bool {
	for _, part := range formatPart.FindAllStringSubmatch(code, -1) {
		if elapsed, end, letter := part[1], part[2], part[3]; elapsed+end+letter != "" {
			return end == ""
		}
	}
	return false
}
