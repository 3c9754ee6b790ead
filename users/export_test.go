package users

// FillHashQueue takes all places of passwords that are hashed or wait, until the function that it returns is called.
func (s *Service) FillHashQueue() func() {
	for range cap(s.passwords.admitted) {
		s.passwords.admitted <- struct{}{}
	}
	return func() {
		for range cap(s.passwords.admitted) {
			<-s.passwords.admitted
		}
	}
}

// Network is network.
func Network(address string) string { return network(address) }

// UserTables returns the tables that the export of a user reads.
func UserTables() []string {
	var names []string
	for _, part := range userRows() {
		names = append(names, part[0])
	}
	return names
}
