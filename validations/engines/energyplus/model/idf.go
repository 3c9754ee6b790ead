package model

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// idfObject is an object of an IDF: a class and its fields, as they are written.
type idfObject struct {
	class  idfToken
	fields []idfToken
}

// idfToken is a text between separators, without the white space around it.
type idfToken struct {
	text   string
	offset int
	// open says that no comma ends a number, or a text before a comment.
	open tokenEnd
}

// tokenEnd says what is where a comma should be.
type tokenEnd byte

// What is where a comma should be.
const (
	closed tokenEnd = iota
	openLine
	openComment
)

// idfReader reads an IDF in one pass. Texts end with a comma, objects with a semicolon, comments with their line;
// nothing is quoted. A text that goes on in the next line is taken for one whose comma was forgotten. Behind a number
// or a comment EnergyPlus may read on there, which depends on the field.
type idfReader struct {
	text    string
	at      int
	limits  engine.Limits
	fields  int
	objects []idfObject
}

// maxClassChars is more than any class has, and classChars are what classes consist of.
const (
	maxClassChars = 100
	classChars    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 :_-/.()&"
)

// parseIDF returns the objects of a model, or the first fault.
func parseIDF(text []byte, limits engine.Limits) ([]idfObject, *engine.ReadError) {
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, malformedIDF(at, "the file contains NUL, so it is not a text")
	}
	r := &idfReader{text: string(text), limits: limits}
	for {
		r.skip()
		if r.at >= len(r.text) {
			return r.objects, nil
		}
		if r.text[r.at] == ';' {
			// EnergyPlus reads past semicolons between objects.
			r.at++
			continue
		}
		if fault := r.object(); fault != nil {
			return nil, fault
		}
	}
}

func (r *idfReader) object() *engine.ReadError {
	class, end, fault := r.token()
	if fault != nil {
		return fault
	}
	if class.open != closed {
		return missingComma(class)
	}
	if fault := checkClass(class, end); fault != nil {
		return fault
	}
	object := idfObject{class: class}
	for end == ',' {
		var field idfToken
		if field, end, fault = r.token(); fault != nil {
			return fault
		}
		if end == 0 {
			message := fmt.Sprintf("the object %s does not end with a semicolon", engine.Clip(class.text))
			return malformedIDF(class.offset, message)
		}
		r.fields++
		if r.fields > r.limits.MaxValues {
			message := fmt.Sprintf("the model has more than %d fields", r.limits.MaxValues)
			return engine.ReadErrorAt("energyplus.too_large", message, field.offset)
		}
		object.fields = append(object.fields, field)
	}
	r.objects = append(r.objects, object)
	return nil
}

// checkClass refuses what cannot be a class, and with it most files that are not IDF.
func checkClass(class idfToken, end byte) *engine.ReadError {
	switch {
	case strings.HasPrefix(class.text, "##"):
		message := "macros are not read: expand " + engine.Quote(class.text) + " before"
		return engine.ReadErrorAt("energyplus.macro", message, class.offset)
	case class.text == "":
		return malformedIDF(class.offset, "a class is missing before this")
	case len(class.text) > maxClassChars || strings.Trim(class.text, classChars) != "":
		return malformedIDF(class.offset, engine.Quote(class.text)+" is not a class of EnergyPlus")
	case end == 0:
		return malformedIDF(class.offset, "a comma or a semicolon is missing after "+engine.Quote(class.text))
	default:
		return nil
	}
}

// token reads a text and what ends it, which is 0 at the end of the file.
func (r *idfReader) token() (idfToken, byte, *engine.ReadError) {
	r.skip()
	start := r.at
	length := strings.IndexAny(r.text[start:], ",;!\r\n")
	if length < 0 {
		length = len(r.text) - start
	}
	token := idfToken{text: strings.TrimRight(r.text[start:start+length], " \t"), offset: start}
	r.at = start + length
	r.skip()
	if r.at >= len(r.text) {
		return token, 0, nil
	}
	end := r.text[r.at]
	if end != ',' && end != ';' {
		if strings.HasPrefix(token.text, "##") {
			return token, 0, nil
		}
		token.open = openLine
		if r.text[start+length] == '!' {
			token.open = openComment
		} else if _, isNumber := parseNumber(token.text); !isNumber {
			return token, 0, missingComma(token)
		}
		return token, ',', nil
	}
	r.at++
	return token, end, nil
}

// skip passes over white space and comments.
func (r *idfReader) skip() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\r', '\n', '\f', '\v':
			r.at++
		case '!':
			length := strings.IndexAny(r.text[r.at:], "\r\n")
			if length < 0 {
				length = len(r.text) - r.at
			}
			r.at += length
		default:
			return
		}
	}
}

func missingComma(token idfToken) *engine.ReadError {
	return malformedIDF(token.offset+len(token.text), "a comma or a semicolon is missing at the end of this line")
}

func malformedIDF(offset int, message string) *engine.ReadError {
	return engine.ReadErrorAt("energyplus.malformed", message, offset)
}
