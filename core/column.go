package core

// Column returns one value per row, in order, as a bulk insertion through unnest takes them.
func Column[R, V any](rows []R, value func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = value(&rows[i])
	}
	return values
}
