package step

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// reader reads the sections of a file.
type reader struct {
	scanner *scanner
	limits  engine.Limits
	begin   Begin
	choose  Chooser
	file    *File
	header  Header
	// keyword and kept are reused for each instance.
	keyword, kept []byte
	// wordAt is where the last word of a section stands.
	wordAt Place
	// sought is a number whose second instance ends the reading.
	sought *uint64
	seen   bool
}

// The words that begin and end the sections of a file.
const (
	wordBegin  = "ISO-10303-21"
	wordEnd    = "END-ISO-10303-21"
	wordHeader = "HEADER"
	wordData   = "DATA"
	wordEndSec = "ENDSEC"
)

func (r *reader) read() *Fault {
	if fault := r.opening(); fault != nil {
		return fault
	}
	if fault := r.readHeader(); fault != nil {
		return fault
	}
	var fault *Fault
	if r.choose, fault = r.begin(r.header); fault != nil {
		return fault
	}
	for sections := 0; ; sections++ {
		word, fault := r.word()
		if fault != nil {
			return fault
		}
		switch word {
		case wordData:
			if fault := r.data(); fault != nil {
				return fault
			}
		case wordEnd:
			if sections == 0 {
				return &Fault{"step.malformed", "the file has no DATA section", r.wordAt}
			}
			return r.expect(';')
		default:
			return r.misplaced(word, "DATA; or "+wordEnd+"; is expected here")
		}
	}
}

// opening reads the beginning of a file, which is the same in all files.
func (r *reader) opening() *Fault {
	mark := []byte(engine.BOM)
	if r.scanner.peek() == int(mark[0]) && bytes.HasPrefix(r.scanner.window, mark) {
		r.scanner.pass(len(mark))
	}
	word, fault := r.word()
	if fault != nil {
		return fault
	}
	if word != wordBegin {
		return r.misplaced(word, "a STEP physical file begins with "+wordBegin+"; (ISO 10303-21)")
	}
	return r.expect(';')
}

// word reads a word in upper case; it is empty if the next byte does not begin one.
func (r *reader) word() (string, *Fault) {
	if fault := r.scanner.skipSpace(); fault != nil {
		return "", fault
	}
	r.wordAt = r.scanner.place()
	return string(bytes.ToUpper(r.scanner.word(nil))), nil
}

// misplaced is the fault of the last word if another one is expected.
func (r *reader) misplaced(word, wanted string) *Fault {
	found := engine.Quote(word) + " is found"
	if word == "" {
		found = r.scanner.found()
	}
	return &Fault{"step.malformed", wanted + ": " + found, r.wordAt}
}

// expect skips white space and reads one character.
func (r *reader) expect(want byte) *Fault {
	if fault := r.scanner.skipSpace(); fault != nil {
		return fault
	}
	if r.scanner.peek() != int(want) {
		return r.scanner.malformed("%q is expected here: %s", string(want), r.scanner.found())
	}
	r.scanner.at++
	return nil
}

func (r *reader) readHeader() *Fault {
	word, fault := r.word()
	if fault != nil {
		return fault
	}
	if word != wordHeader {
		return r.misplaced(word, "HEADER; is expected here")
	}
	if fault := r.expect(';'); fault != nil {
		return fault
	}
	for {
		word, fault := r.word()
		if fault != nil {
			return fault
		}
		at := r.wordAt
		switch word {
		case wordEndSec:
			return r.expect(';')
		case "":
			return r.misplaced(word, "an entry of the header is expected here")
		}
		r.kept = r.kept[:0]
		if fault := r.parameters(&r.kept); fault != nil {
			return fault
		}
		if fault := r.expect(';'); fault != nil {
			return fault
		}
		if word == "FILE_SCHEMA" {
			r.header.At = at
			for name := range Value(r.kept).Element(0).Elements() {
				r.header.Schemas = append(r.header.Schemas, name.Text())
			}
		}
	}
}

// data reads a section of instances.
func (r *reader) data() *Fault {
	s := r.scanner
	if fault := s.skipSpace(); fault != nil {
		return fault
	}
	if s.peek() == '(' {
		// A file with several sections names each of them.
		if fault := r.parameters(nil); fault != nil {
			return fault
		}
	}
	if fault := r.expect(';'); fault != nil {
		return fault
	}
	for {
		if fault := s.skipSpace(); fault != nil {
			return fault
		}
		if s.peek() == '#' {
			if fault := r.instance(); fault != nil {
				return fault
			}
			continue
		}
		word, fault := r.word()
		if fault != nil {
			return fault
		}
		if word != wordEndSec {
			return r.misplaced(word, "an instance, as in #1=, or ENDSEC; is expected here")
		}
		return r.expect(';')
	}
}

// instance reads one instance, such as #12=IFCWALL('a');.
func (r *reader) instance() *Fault {
	at := r.scanner.place()
	id, fault := r.name(at)
	if fault != nil {
		return fault
	}
	if fault := r.expect('='); fault != nil {
		return fault
	}
	if fault := r.scanner.skipSpace(); fault != nil {
		return fault
	}
	r.keyword = r.scanner.word(r.keyword[:0])
	if len(r.keyword) == 0 {
		return r.scanner.malformed("the name of one class is expected here: %s", r.scanner.found())
	}
	upper(r.keyword)
	class, keep := r.choose(r.keyword)
	var kept *[]byte
	if keep {
		r.kept = r.kept[:0]
		kept = &r.kept
	}
	if fault := r.parameters(kept); fault != nil {
		return fault
	}
	if fault := r.expect(';'); fault != nil || !keep {
		return fault
	}
	return r.file.keep(id, class, r.kept, at)
}

// name reads the name of an instance and records its number.
func (r *reader) name(at Place) (uint64, *Fault) {
	r.keyword = r.scanner.word(r.keyword[:0])
	id, err := strconv.ParseUint(string(r.keyword[1:]), 10, 64)
	if err != nil || id > math.MaxInt64 {
		message := engine.Quote(string(r.keyword)) + " is not a name of an instance, as #12 is"
		return 0, &Fault{"step.malformed", message, at}
	}
	if r.sought != nil && id == *r.sought {
		if r.seen {
			return 0, &Fault{"step.duplicate", fmt.Sprintf("a second instance has the name #%d", id), at}
		}
		r.seen = true
	}
	return id, r.file.add(id, at)
}

func upper(word []byte) {
	for i, b := range word {
		if b >= 'a' && b <= 'z' {
			word[i] = b - 'a' + 'A'
		}
	}
}

// parameters reads a list of values in parentheses. If keep is not nil, it appends them without spaces and comments.
func (r *reader) parameters(keep *[]byte) *Fault {
	s := r.scanner
	if fault := s.skipSpace(); fault != nil {
		return fault
	}
	if s.peek() != '(' {
		return s.malformed(`"(" is expected here: %s`, s.found())
	}
	p := &parameters{reader: r, keep: keep}
	for {
		if fault := s.skipSpace(); fault != nil {
			return fault
		}
		if fault := p.next(); fault != nil {
			return fault
		}
		if p.depth == 0 {
			return nil
		}
		if keep != nil && int64(len(*keep)) > r.file.budget {
			return r.file.tooLarge(s.place())
		}
	}
}

// parameters is the state between two values of a list.
type parameters struct {
	reader *reader
	keep   *[]byte
	depth  int
	// full says that a value has just ended, fresh that a list has just begun, typed that a type has been named.
	full, fresh, typed bool
}

// next reads a value, or what separates two values.
func (p *parameters) next() *Fault {
	s := p.reader.scanner
	b := s.peek()
	switch {
	case p.typed && b != '(':
		return s.malformed(`"(" must follow the name of a type: %s`, s.found())
	case b == ')' || b == ',':
		return p.end(b == ')')
	case b == atEnd || b == ';':
		return s.malformed("a list is not closed: %s", s.found())
	case p.full:
		return s.malformed(`"," or ")" is expected here: %s`, s.found())
	case b == '(':
		return p.open()
	}
	p.full, p.fresh = true, false
	if b == '\'' || b == '"' {
		return s.skipText(p.keep)
	}
	return p.word()
}

// end reads what ends a value: a comma, or the end of its list.
func (p *parameters) end(ofList bool) *Fault {
	s := p.reader.scanner
	if !p.full && (!ofList || !p.fresh) {
		return s.malformed("a value is missing: %s", s.found())
	}
	p.full, p.fresh = ofList, false
	if ofList {
		p.depth--
	}
	s.take(1, p.keep)
	return nil
}

func (p *parameters) open() *Fault {
	s := p.reader.scanner
	if most := p.reader.limits.MaxDepth; p.depth >= most {
		return s.fault("step.depth", fmt.Sprintf("nested deeper than %d levels", most))
	}
	p.depth++
	p.fresh, p.typed = true, false
	s.take(1, p.keep)
	return nil
}

// word reads a number, a reference, an enumeration, an empty value or the name of a type.
func (p *parameters) word() *Fault {
	s := p.reader.scanner
	at := s.place()
	first := s.window[s.at]
	if !isWord[first] {
		return s.malformed("a value is expected here: %s", s.found())
	}
	r := p.reader
	r.keyword = s.word(r.keyword[:0])
	if len(r.keyword) == maxWord {
		return &Fault{"step.malformed", fmt.Sprintf("a word has more than %d characters", maxWord-1), at}
	}
	isName := first >= 'A' && first <= 'Z' || first >= 'a' && first <= 'z' || first == '!'
	if !isName && !isPlain(r.keyword) {
		return &Fault{"step.malformed", engine.Quote(string(r.keyword)) + " is not a value", at}
	}
	if isName {
		upper(r.keyword)
		p.full, p.typed = false, true
	}
	if p.keep != nil {
		*p.keep = append(*p.keep, r.keyword...)
	}
	return nil
}

// isPlain reports whether a word is a number, a reference, an enumeration, or an empty value.
func isPlain(word []byte) bool {
	switch word[0] {
	case '$', '*':
		return len(word) == 1
	case '.':
		return len(word) > 2 && bytes.IndexByte(word[1:], '.') == len(word)-2 // both points
	case '#':
		_, err := strconv.ParseUint(string(word[1:]), 10, 63)
		return err == nil
	default:
		return len(bytes.TrimLeft(word, "0123456789+-.Ee")) == 0
	}
}
