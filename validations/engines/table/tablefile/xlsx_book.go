package tablefile

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
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
	main, ok := partOf(root, relatedWorkbook)
	if !ok {
		return nil, malformedWorkbook(errors.New("it contains no workbook; is it another kind of Office file?"))
	}
	parts, err := b.related(ctx, main)
	if err != nil {
		return nil, err
	}
	if err := b.readSheets(ctx, main, parts); err != nil {
		return nil, err
	}
	if part, ok := partOf(parts, relatedStyles); ok {
		if err := b.readStyles(ctx, part); err != nil {
			return nil, err
		}
	}
	if part, ok := partOf(parts, relatedStrings); ok {
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
	return newXMLParts(ctx, content, b.limits.MaxRecordBytes), nil
}

// relation is a part that another one refers to.
type relation struct {
	id, kind, part string
}

// related reads what a part refers to; that of the archive as a whole is "".
func (b *workbook) related(ctx context.Context, part string) ([]relation, error) {
	dir, base := path.Split(part)
	parts, err := b.open(ctx, dir+"_rels/"+base+".rels", maxWorkbookBytes)
	if err != nil {
		return nil, err
	}
	var found []relation
	err = parts.each("Relationship", func(e xml.StartElement) error {
		target := attribute(e, "Target")
		if attribute(e, "TargetMode") == "External" {
			return nil
		}
		if !strings.HasPrefix(target, "/") {
			target = path.Join("/", dir, target)
		}
		found = append(found, relation{attribute(e, "Id"), attribute(e, "Type"), strings.TrimPrefix(target, "/")})
		return nil
	})
	return found, err
}

func partOf(relations []relation, kind string) (string, bool) {
	at := slices.IndexFunc(relations, func(r relation) bool { return strings.HasSuffix(r.kind, kind) })
	if at < 0 {
		return "", false
	}
	return relations[at].part, true
}

func (b *workbook) readSheets(ctx context.Context, main string, parts []relation) error {
	book, err := b.open(ctx, main, maxWorkbookBytes)
	if err != nil {
		return err
	}
	sheets := map[string]string{}
	for _, r := range slices.Backward(parts) {
		if strings.HasSuffix(r.kind, relatedSheet) {
			sheets[r.id] = r.part
		}
	}
	return book.each("", func(e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			b.from1904 = attribute(e, "date1904") == "1" || attribute(e, "date1904") == "true"
		case "sheet":
			// Sheets of charts have no rows.
			if part, ok := sheets[relationID(e)]; ok {
				b.sheets = append(b.sheets, sheetEntry{attribute(e, "name"), part})
			}
		}
		return nil
	})
}

// relationID is the attribute id of the namespace of relationships; an id without a namespace is something else.
func relationID(e xml.StartElement) string {
	for _, a := range e.Attr {
		if a.Name.Local == "id" && strings.HasSuffix(a.Name.Space, "/relationships") {
			return a.Value
		}
	}
	return ""
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
	var inside []string
	for {
		token, err := parts.token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			inside = append(inside, t.Name.Local)
		case xml.EndElement:
			inside = inside[:len(inside)-1]
			if t.Name.Local == "si" {
				b.strings.ends = append(b.strings.ends, len(b.strings.text))
			}
		case xml.CharData:
			// Phonetic hints (rPh) are no part of a text.
			if n := len(inside); n > 0 && inside[n-1] == "t" && !slices.Contains(inside, "rPh") {
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
	parts, err := b.open(ctx, part, maxWorkbookBytes)
	if err != nil {
		return err
	}
	formats, known := map[string]string{}, map[string]cellStyle{}
	inside := false
	return parts.each("", func(e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			formats[attribute(e, "numFmtId")] = attribute(e, "formatCode")
		case "cellXfs":
			inside = true
		case "cellStyleXfs", "cellStyles", "dxfs":
			inside = false
		case "xf":
			if !inside {
				break
			}
			id := attribute(e, "numFmtId")
			style, isKnown := known[id]
			if !isKnown {
				style = styleOf(id, formats)
				known[id] = style
			}
			b.styles = append(b.styles, style)
		}
		return nil
	})
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

// isTimeCode reports whether the first section of a number format has letters of dates or times outside of texts.
func isTimeCode(code string) bool {
	for i := 0; i < len(code) && code[i] != ';'; i++ {
		switch code[i] {
		case '"':
			i += strings.IndexByte(code[i+1:]+`"`, '"') + 1
		case '\\', '_', '*':
			i++
		case '[':
			end := strings.IndexByte(code[i:]+"]", ']')
			if elapsed := strings.ToLower(code[i+1 : min(i+end, len(code))]); elapsed != "" &&
				strings.Trim(elapsed, "hms") == "" {
				return true
			}
			i += end
		case 'd', 'D', 'm', 'M', 'y', 'Y', 'h', 'H', 's', 'S':
			return true
		case 'G', 'g':
			// General is not an era.
			if strings.HasPrefix(strings.ToLower(code[i:]), "general") {
				i += len("general") - 1
			}
		}
	}
	return false
}
