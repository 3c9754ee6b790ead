// Package step reads STEP physical files (ISO 10303-21), the form of IFC models.
//
// A file is read once, as a stream of bounded memory: its syntax is checked everywhere, and the instances that a caller
// wants are kept as compact texts whose values are read when they are asked for. The package knows no schema.
package step

import "io"

// Place is a position in a file. Lines and columns count from 1.
type Place struct {
	Offset       int64
	Line, Column int
}

// Fault is the reason why a file cannot be read.
type Fault struct {
	Code    string
	Message string
	At      Place
}

// Header holds the facts of a file's header.
type Header struct {
	// Schemas are the names of the schemas of the instances.
	Schemas []string
	// At is the position of these names.
	At Place
}

// Chooser says whether the instances of a keyword are kept, and by which number of their class. It is called once for
// each instance, with a keyword in upper case that is valid only meanwhile.
type Chooser func(keyword []byte) (class uint16, keep bool)

// Begin is called after the header and returns which instances are kept. Its fault ends the reading.
type Begin func(h Header) (Chooser, *Fault)

// Read reads a file and keeps the instances that are chosen, in so many bytes of memory. The fault says what is wrong
// with the file, the error why it could not be read at all.
func Read(source io.Reader, size, maxHeld int64, begin Begin) (*File, *Fault, error) {
	r := &reader{scanner: newScanner(source, size), begin: begin, file: newFile(maxHeld)}
	fault := r.read()
	if r.scanner.err != nil {
		return nil, nil, r.scanner.err
	}
	if fault != nil {
		return nil, fault, nil
	}
	r.file.index()
	return r.file, nil, nil
}
