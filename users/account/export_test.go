package account

// FillHashQueue takes all places of strangers, hashed and waiting, until the function that it returns is called.
func (p *Passwords) FillHashQueue() func() {
	for range cap(p.strangers) {
		p.strangers <- struct{}{}
	}
	p.open <- struct{}{}
	return func() {
		for range cap(p.strangers) {
			<-p.strangers
		}
		<-p.open
	}
}

// FillHashPlace takes the place in which passwords of strangers are hashed, until the function is called.
func (p *Passwords) FillHashPlace() func() {
	p.open <- struct{}{}
	return func() { <-p.open }
}
