package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// reader reads an archive line by line. It knows the digest of what it has read, and how many rows there were.
type reader struct {
	from   *bufio.Reader
	digest hash.Hash
	rows   map[string]int64
	// ended is set behind the last line.
	ended bool
}

func newReader(from io.Reader) *reader {
	return &reader{from: bufio.NewReaderSize(from, 1<<20), digest: sha256.New(), rows: map[string]int64{}}
}

// header reads the first line, and returns it as it stands, too.
func (r *reader) header() (Header, []byte, error) {
	text, err := r.text()
	if err != nil {
		return Header{}, nil, err
	}
	r.digest.Write(text)
	var header Header
	if err := json.Unmarshal(text, &header); err != nil || header.Format != Format {
		return Header{}, nil, fmt.Errorf("%w: it does not begin as an export of an organization", ErrForeign)
	}
	if header.Version != Version {
		return Header{}, nil, fmt.Errorf("%w: its format has version %d, and this release reads %d",
			ErrForeign, header.Version, Version)
	}
	return header, text, nil
}

// next returns the next line, and io.EOF once the archive has ended as it should.
func (r *reader) next() (line, error) {
	if r.ended {
		if _, err := r.from.ReadByte(); !errors.Is(err, io.EOF) {
			return line{}, fmt.Errorf("%w: it goes on after its end", ErrDamaged)
		}
		return line{}, io.EOF
	}
	text, err := r.text()
	if err != nil {
		return line{}, err
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return line{}, fmt.Errorf("%w: a line cannot be read: %w", ErrDamaged, err)
	}
	switch {
	case l.End != nil:
		r.ended = true
		return l, r.compare(*l.End)
	case l.User != nil:
		r.rows["users"]++
	case len(l.Row) == 0:
		return line{}, fmt.Errorf("%w: a line has no row", ErrDamaged)
	default:
		r.rows[l.Table]++
	}
	r.digest.Write(text)
	return l, nil
}

func (r *reader) compare(e end) error {
	if e.SHA256 != hex.EncodeToString(r.digest.Sum(nil)) || !maps.Equal(e.Rows, r.rows) {
		return fmt.Errorf("%w: its digest or the number of its rows is another one", ErrDamaged)
	}
	return nil
}

// text reads a line with its end.
func (r *reader) text() ([]byte, error) {
	var text []byte
	for {
		part, err := r.from.ReadSlice('\n')
		switch {
		case err == nil && text == nil:
			return bytes.Clone(part), nil
		case err == nil:
			return append(text, part...), nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: it ends too early", ErrDamaged)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read the archive: %w", err)
		}
		if text = append(text, part...); len(text) > maxLine {
			return nil, fmt.Errorf("%w: a line is longer than %d bytes", ErrDamaged, maxLine)
		}
	}
}

// Verify reads an archive to its end and changes nothing.
func Verify(ctx context.Context, database *db.DB, from io.Reader) (Report, error) {
	r := newReader(from)
	header, _, err := r.header()
	report := Report{Organization: header.Organization, Slug: header.Slug, Rows: r.rows}
	for err == nil {
		var l line
		if l, err = r.next(); err != nil {
			break
		}
		if l.Row != nil {
			err = checkLine(l)
		}
		if l.User != nil {
			var isPerson bool
			if _, isPerson, err = findUser(ctx, database, header.Organization, l.User.Email); isPerson {
				report.Existing = append(report.Existing, l.User.Email)
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && header.Live {
		err = errLive
	}
	return report, err
}

// checkLine refuses what an import would refuse without the database.
func checkLine(l line) error {
	if l.Table == organizations {
		return nil
	}
	for _, t := range tables() {
		if t.name == l.Table {
			if t.check == nil {
				return nil
			}
			return t.check(l.Row)
		}
	}
	return errNoTable(l.Table)
}

var errLive = fmt.Errorf("%w: it was made with --live, and the organization may have changed since", ErrForeign)

func errNoTable(name string) error {
	return fmt.Errorf("%w: there is no table %.60q for its rows", ErrForeign, name)
}
