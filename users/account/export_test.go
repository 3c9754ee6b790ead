package account

// FillHashQueue takes all places of passwords that are hashed or wait, until the function that it returns is called.
func (p *Passwords) FillHashQueue() func() {
	for range cap(p.admitted) {
		p.admitted <- struct{}{}
	}
	return func() {
		for range cap(p.admitted) {
			<-p.admitted
		}
	}
}
