package db

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Column returns one value per row, in order, as a bulk insertion through unnest takes them.
func Column[R, V any](rows []R, value func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = value(&rows[i])
	}
	return values
}

// IDColumn is Column for ids; nil becomes NULL. It has the driver's own type, because the driver would look up how to
// write each id of a slice of any other.
func IDColumn[R any](rows []R, id func(*R) *uuid.UUID) pgtype.FlatArray[pgtype.UUID] {
	return Column(rows, func(row *R) pgtype.UUID {
		if found := id(row); found != nil {
			return pgtype.UUID{Bytes: *found, Valid: true}
		}
		return pgtype.UUID{}
	})
}
