package step

import (
	"bytes"
	"iter"
	"strconv"
)

// Value is a parameter of an instance as the file writes it, without spaces and comments. The zero value is a parameter
// that the instance does not have.
type Value []byte

// Kind is the form of a value.
type Kind uint8

// The kinds of values.
const (
	// Missing is the kind of the zero value, Null that of $, and Derived that of *.
	Missing Kind = iota
	Null
	Derived
	Text
	Binary
	Number
	Enumeration
	Reference
	List
	// Typed is a value with the name of its type, as in IFCLABEL('a').
	Typed
)

// Kind returns the form of a value.
func (v Value) Kind() Kind {
	if len(v) == 0 {
		return Missing
	}
	switch v[0] {
	case '$':
		return Null
	case '*':
		return Derived
	case '\'':
		return Text
	case '"':
		return Binary
	case '.':
		return Enumeration
	case '#':
		return Reference
	case '(':
		return List
	case '+', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return Number
	default:
		return Typed
	}
}

// Empty reports whether there is no value: the parameter is missing, $ or *.
func (v Value) Empty() bool {
	return v.Kind() <= Derived
}

// Elements iterates over the values of a list. Other values have no elements.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != List {
			return
		}
		for at := 1; at < len(v)-1; at++ {
			end := at + valueEnd(v[at:])
			if !yield(v[at:end]) {
				return
			}
			// The character after a value is a comma, or the end of the list.
			at = end
		}
	}
}

// Element returns the n-th value of a list, from 0, or the zero value if the list is shorter.
func (v Value) Element(n int) Value {
	for element := range v.Elements() {
		if n == 0 {
			return element
		}
		n--
	}
	return nil
}

// valueEnd returns the length of the value at the beginning of a text.
func valueEnd(text []byte) int {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch b := text[at]; b {
		case '\'', '"':
			at = quotedEnd(text, at)
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return at
			}
			depth--
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
	return len(text)
}

// quotedEnd returns the offset of the closing quote. A doubled quote does not close a text.
func quotedEnd(text []byte, at int) int {
	quote := text[at]
	var inside escapes
	for begin := at + 1; ; {
		length := bytes.IndexByte(text[begin:], quote)
		if length < 0 {
			return len(text)
		}
		if !inside.hides(text[begin : begin+length]) {
			return begin + length
		}
		begin += length + 1
	}
}

// Typed splits a value into the name of its type, in upper case, and the value. Other values have an empty name.
func (v Value) Typed() (string, Value) {
	if v.Kind() != Typed {
		return "", v
	}
	for at, b := range v {
		if b == '(' {
			return string(v[:at]), v[at:].Element(0)
		}
	}
	return "", nil
}

// Text returns a text without its quotes, the name of an enumeration, and other values as they are written.
func (v Value) Text() string {
	switch v.Kind() {
	case Text:
		return decode(v[1 : len(v)-1])
	case Enumeration:
		return string(v[1 : len(v)-1])
	default:
		return string(v)
	}
}

// Reference returns the number that a reference leads to.
func (v Value) Reference() (uint64, bool) {
	if v.Kind() != Reference {
		return 0, false
	}
	id, err := strconv.ParseUint(string(v[1:]), 10, 64)
	return id, err == nil
}

// Number returns the value of a number.
func (v Value) Number() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	number, err := strconv.ParseFloat(string(v), 64)
	return number, err == nil
}
