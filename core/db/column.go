package db

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Column returns one value per row, in order, as a bulk insertion through unnest takes them. Ids are pointers, of which
// nil becomes NULL.
func Column[R, V any](rows []R, value func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = value(&rows[i])
	}
	return values
}

// IDs is Column for a list of ids. It is never NULL.
func IDs(ids []uuid.UUID) []*uuid.UUID {
	return Column(ids, func(id *uuid.UUID) *uuid.UUID { return id })
}

// NonZero returns nil for a zero value, which becomes NULL.
func NonZero[V comparable](value V) *V {
	var zero V
	if value == zero {
		return nil
	}
	return &value
}

// registerColumns makes columns of ids, texts and bytes travel as they are in memory.
func registerColumns(types *pgtype.Map) {
	for _, name := range []string{"_uuid", "_text", "_bytea"} {
		array, ok := types.TypeForName(name)
		if !ok {
			continue
		}
		if codec, ok := array.Codec.(*pgtype.ArrayCodec); ok {
			types.RegisterType(&pgtype.Type{Name: name, OID: array.OID, Codec: columnCodec{codec}})
		}
	}
}

// columnCodec writes columns of ids, texts and bytes directly. The embedded codec would look up how to write each
// value, and allocate memory for it.
type columnCodec struct {
	*pgtype.ArrayCodec
}

// PlanEncode returns how a value is written.
func (c columnCodec) PlanEncode( //nolint:ireturn // pgx demands it
	types *pgtype.Map, oid uint32, format int16, value any,
) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch element := c.ElementType.OID; value.(type) {
		case []*uuid.UUID:
			if element == pgtype.UUIDOID {
				return columnPlan[*uuid.UUID]{element, appendID}
			}
		case []string:
			if element == pgtype.TextOID {
				return columnPlan[string]{element, func(buf []byte, text *string) ([]byte, bool) {
					return append(buf, *text...), true
				}}
			}
		case [][]byte:
			if element == pgtype.ByteaOID {
				return columnPlan[[]byte]{element, func(buf []byte, bytes *[]byte) ([]byte, bool) {
					return append(buf, *bytes...), *bytes != nil
				}}
			}
		}
	}
	return c.ArrayCodec.PlanEncode(types, oid, format, value)
}

func appendID(buf []byte, id **uuid.UUID) ([]byte, bool) {
	if *id == nil {
		return buf, false
	}
	return append(buf, (*id)[:]...), true
}

// columnPlan writes an array as array_recv of PostgreSQL reads it.
type columnPlan[V any] struct {
	element uint32
	// add appends the bytes of a value; false stands for NULL.
	add func(buf []byte, value *V) ([]byte, bool)
}

// Encode appends a column: its header, and each value behind its length.
func (p columnPlan[V]) Encode(array any, buf []byte) ([]byte, error) {
	column, ok := array.([]V)
	if !ok {
		return nil, fmt.Errorf("write a %T as a column", array)
	}
	// The server finds out itself whether there are NULLs.
	const dimensions, flags, lowerBound, lengthOfNull, lengthSize = 1, 0, 1, math.MaxUint32, 4
	length := uint32(len(column)) //nolint:gosec // PostgreSQL takes no message of 4 GiB
	for _, number := range [...]uint32{dimensions, flags, p.element, length, lowerBound} {
		buf = binary.BigEndian.AppendUint32(buf, number)
	}
	for i := range column {
		begin := len(buf)
		buf = binary.BigEndian.AppendUint32(buf, lengthOfNull)
		added, known := p.add(buf, &column[i])
		if !known {
			continue
		}
		buf = added
		binary.BigEndian.PutUint32(buf[begin:], uint32(len(buf)-begin-lengthSize)) //nolint:gosec // as above
	}
	return buf, nil
}
