package step

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/findings"
)

// windowSize is how much of a file is in memory while it is read.
const windowSize = 256 << 10

// atEnd is what peek returns after the last byte.
const atEnd = -1

// scanner reads the bytes of a file through a window and keeps track of lines.
type scanner struct {
	source io.Reader
	size   int64
	window []byte
	// base is the offset of the window in the file, at the next byte in the window.
	base int64
	at   int
	line int
	// lineStart is the offset of the line. Continued counts its bytes that do not begin a character.
	lineStart int64
	continued int64
	// err is why the source could not be read.
	err error
}

func newScanner(source io.Reader, size int64) *scanner {
	return &scanner{source: source, size: size, line: 1, window: make([]byte, 0, min(windowSize, size))}
}

// fill reads the next window once this one is used up. It returns false at the end of the file and after an error.
func (s *scanner) fill() bool {
	s.base += int64(len(s.window))
	s.at, s.window = 0, s.window[:0]
	if s.err != nil || s.base >= s.size {
		return false
	}
	s.window = s.window[:min(int64(cap(s.window)), s.size-s.base)]
	if _, err := io.ReadFull(s.source, s.window); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		s.err = fmt.Errorf("read the document: %w", err)
		s.window = s.window[:0]
	}
	return s.err == nil
}

// peek returns the next byte, or atEnd.
func (s *scanner) peek() int {
	if s.at == len(s.window) && !s.fill() {
		return atEnd
	}
	return int(s.window[s.at])
}

// offset is the offset of the next byte in the file.
func (s *scanner) offset() int64 {
	return s.base + int64(s.at)
}

// place is where the next byte is.
func (s *scanner) place() Place {
	offset := s.offset()
	return Place{Offset: offset, Line: s.line, Column: int(offset-s.lineStart-s.continued) + 1}
}

func (s *scanner) fault(code, message string) *Fault {
	return &Fault{Code: code, Message: message, At: s.place()}
}

func (s *scanner) malformed(format string, values ...any) *Fault {
	return s.fault("step.malformed", fmt.Sprintf(format, values...))
}

// found describes the next character, for messages.
func (s *scanner) found() string {
	if s.peek() == atEnd {
		return "the file ends"
	}
	char, _ := utf8.DecodeRune(s.window[s.at:])
	return findings.Quote(string(char)) + " is found"
}

// pass skips bytes of the window, which may include line breaks and multi-byte characters.
func (s *scanner) pass(n int) {
	for i, b := range s.window[s.at : s.at+n] {
		switch {
		case b == '\n':
			s.line++
			s.lineStart, s.continued = s.offset()+int64(i)+1, 0
		case b&0xc0 == 0x80:
			s.continued++
		}
	}
	s.at += n
}

// skipSpace skips white space and comments.
func (s *scanner) skipSpace() *Fault {
	for {
		switch b := s.peek(); {
		case b == '/':
			if fault := s.skipComment(); fault != nil {
				return fault
			}
		case b >= 0 && b <= ' ' && b != 0:
			s.pass(1)
		default:
			return nil
		}
	}
}

func (s *scanner) skipComment() *Fault {
	begin := s.place()
	s.at++
	if s.peek() != '*' {
		return &Fault{"step.malformed", `"/" begins a comment only before "*"`, begin}
	}
	s.at++
	for star := false; ; {
		b := s.peek()
		if b == atEnd {
			return &Fault{"step.malformed", "this comment is never closed", begin}
		}
		s.pass(1)
		if star && b == '/' {
			return nil
		}
		star = b == '*'
	}
}

// skipText skips a quoted text that begins here. If keep is not nil, it appends the text with its quotes.
func (s *scanner) skipText(keep *[]byte) *Fault {
	begin := s.place()
	quote := s.window[s.at]
	s.take(1, keep)
	var inside escapes
	for {
		if s.peek() == atEnd {
			return &Fault{"step.malformed", "this text is never closed", begin}
		}
		rest := s.window[s.at:]
		end := bytes.IndexByte(rest, quote)
		if end < 0 {
			inside.follow(rest)
			s.take(len(rest), keep)
			continue
		}
		hidden := inside.hides(rest[:end])
		s.take(end+1, keep)
		if hidden {
			continue
		}
		if s.peek() != int(quote) {
			return nil
		}
		s.take(1, keep)
	}
}

// take skips bytes of the window, and appends them if keep is not nil.
func (s *scanner) take(n int, keep *[]byte) {
	if keep != nil {
		*keep = append(*keep, s.window[s.at:s.at+n]...)
	}
	s.pass(n)
}

// word appends the letters, digits and signs that follow, up to a limit.
func (s *scanner) word(to []byte) []byte {
	for {
		begin := s.at
		for s.at < len(s.window) && isWord[s.window[s.at]] {
			s.at++
		}
		if room := maxWord - len(to); room > 0 {
			to = append(to, s.window[begin:s.at][:min(room, s.at-begin)]...)
		}
		if s.at < len(s.window) || !s.fill() {
			return to
		}
	}
}

// maxWord is the length up to which a keyword or a number is kept.
const maxWord = 256

// isWord marks the bytes of keywords, numbers, references and enumerations.
//
//nolint:gochecknoglobals // It is a constant of a type for which Go has none.
var isWord = func() [256]bool {
	var is [256]bool
	for _, b := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.#$*!") {
		is[b] = true
	}
	return is
}()
