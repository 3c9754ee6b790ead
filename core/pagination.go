package core

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// DefaultPageSize and MaxPageSize bound the lists.
const (
	DefaultPageSize = 50
	MaxPageSize     = 200
)

// The first byte of a cursor says in which direction it leads.
const (
	pageNext     byte = 'n'
	pagePrevious byte = 'p'
)

// PageQuery is the part of a list's query that pages through it.
type PageQuery struct {
	Size   string `query:"page_size"`
	Cursor string `query:"cursor"`
}

// Cursor is a position in a list that is ordered by UUIDv7, newest first.
type Cursor struct {
	// ID is the row next to the page; the zero UUID stands for the list's beginning.
	ID uuid.UUID
	// Backward asks for the page before that row instead of the one after it.
	Backward bool
	Size     int
}

// Parse reads the size and the cursor; what this service has not issued is answered with invalid_parameter.
func (q PageQuery) Parse() (Cursor, error) {
	cursor := Cursor{Size: DefaultPageSize}
	if q.Size != "" {
		size, err := strconv.Atoi(q.Size)
		if err != nil || size < 1 || size > MaxPageSize {
			return Cursor{}, InvalidParameter("page_size",
				fmt.Sprintf("must be a whole number from 1 to %d", MaxPageSize))
		}
		cursor.Size = size
	}
	if q.Cursor == "" {
		return cursor, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err != nil || len(raw) != len(cursor.ID)+1 || (raw[0] != pageNext && raw[0] != pagePrevious) {
		return Cursor{}, InvalidParameter("cursor",
			"is not a cursor of this list; use next or previous as they were given")
	}
	cursor.Backward = raw[0] == pagePrevious
	copy(cursor.ID[:], raw[1:])
	return cursor, nil
}

// BindList reads and checks the query of a list, and returns where the page begins. Views call ReadPage instead, unless
// their rows are read in another way.
func BindList(c echo.Context, check *Validator, query ListQuery) (Cursor, error) {
	if err := BindQuery(c, check, query); err != nil {
		return Cursor{}, err
	}
	return query.Parse()
}

// ListQuery is the query of a list: a struct that embeds PageQuery, with what narrows the list.
type ListQuery interface {
	Parse() (Cursor, error)
}

// ReadPage reads the page of a list that a request asks for. The query is filled in and checked before read is called,
// which returns up to Size+1 rows in the order of Cursor.Window. The id is what the list is ordered by.
func ReadPage[T any](
	c echo.Context, check *Validator, query ListQuery, id func(T) uuid.UUID,
	read func(ctx context.Context, cursor Cursor) ([]T, error),
) (api.Page[T], error) {
	cursor, err := BindList(c, check, query)
	if err != nil {
		return api.Page[T]{}, err
	}
	rows, err := read(c.Request().Context(), cursor)
	if err != nil {
		return api.Page[T]{}, err
	}
	return NewPage(cursor, rows, uuid.Nil, id, *c.Request().URL), nil
}

// Window returns how a list's query reads the page: the ids on this side of one, in this order. The
// comparison and the order are parts of SQL.
func (c Cursor) Window() (string, string, uuid.UUID) {
	switch {
	case c.Backward:
		return ">", "ASC", c.ID
	case c.ID == uuid.Nil:
		return "<", "DESC", uuid.Max
	default:
		return "<", "DESC", c.ID
	}
}

// Of narrows a query to the cursor's page and one row more, in the order of the column that holds the ids.
func (c Cursor) Of(query *gorm.DB, id string) *gorm.DB {
	comparison, order, from := c.Window()
	return query.Where(id+" "+comparison+" ?", from).Order(id + " " + order).Limit(c.Size + 1)
}

// MaxScanned bounds how many rows one page of a list scans for a filter that no index answers. The next page resumes
// where the scan has stopped, so paging to the end finds everything.
const MaxScanned = 20_000

// Scanned are the items of a page, and one more if there is a next page.
type Scanned[T any] struct {
	Found []T
	// Stopped is the last item scanned for a page that is not full although older ones are left to scan. It is the zero
	// UUID for every other page.
	Stopped uuid.UUID
}

// NewPage makes the page from up to Size+1 rows in the order that they were read (backward pages are
// read oldest first). The row beyond the size only shows that there is more. A search that has stopped at an id before
// the page was full has a link to what it has not looked at; the zero UUID stands for one that has not stopped.
func NewPage[T any](
	cursor Cursor, rows []T, stopped uuid.UUID, id func(T) uuid.UUID, address url.URL,
) api.Page[T] {
	more := len(rows) > cursor.Size
	if more {
		rows = rows[:cursor.Size]
	}
	if cursor.Backward {
		slices.Reverse(rows)
	}
	if rows == nil {
		rows = []T{}
	}
	page := api.Page[T]{Results: rows}
	if len(rows) > 0 && (more || cursor.Backward) {
		page.Next = pageAddress(address, pageNext, id(rows[len(rows)-1]))
	}
	if len(rows) > 0 && (more && cursor.Backward || !cursor.Backward && cursor.ID != uuid.Nil) {
		page.Previous = pageAddress(address, pagePrevious, id(rows[0]))
	}
	switch {
	case stopped == uuid.Nil:
	case cursor.Backward:
		page.Previous = pageAddress(address, pagePrevious, stopped)
	default:
		page.Next = pageAddress(address, pageNext, stopped)
	}
	return page
}

func pageAddress(address url.URL, direction byte, id uuid.UUID) api.Optional {
	query := address.Query()
	query.Set("cursor", base64.RawURLEncoding.EncodeToString(append([]byte{direction}, id[:]...)))
	relative := url.URL{Path: address.Path, RawQuery: query.Encode()}
	return api.Optional(relative.String())
}

// MapPage renders every row of a page.
func MapPage[T, U any](page api.Page[T], render func(T) U) api.Page[U] {
	results := make([]U, len(page.Results))
	for i, row := range page.Results {
		results[i] = render(row)
	}
	return api.Page[U]{Next: page.Next, Previous: page.Previous, Results: results}
}
