package commands

// UserTables returns the tables that the export of a user reads.
func UserTables() []string {
	var names []string
	for _, part := range userRows() {
		names = append(names, part[0])
	}
	return names
}
