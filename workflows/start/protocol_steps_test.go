package start

// protocol is how the starts of one key get along with each other. Its zero value is how they do; each member is what
// they once did, or must never do.
type protocol struct {
	// keysFirst claims keys before the documents are sent.
	keysFirst bool
	// twoTrips gives up where not everything is granted, and decides in a transaction of two trips. There, triesAgain
	// tries the lock of a key a second time, before it locks the counter.
	twoTrips, triesAgain bool
	// repeatsLost sends a start again whose connection was lost.
	repeatsLost bool
	// takesLiveKeys claims keys that have an answer.
	takesLiveKeys bool
	// chargesApart commits the charge before the run.
	chargesApart bool
	// keepsKeys does not withdraw the key of a start that was not granted.
	keepsKeys bool
}

// place is where a request is on its way, or its session on the server.
type place byte

const (
	toBegin place = iota
	toSend
	toAsk
	waiting
	toSettle
	toOpen
	frozen
	// answered was told all that there is to tell, and refused that another request is in progress.
	answered
	refused
)

const (
	// none is no session.
	none place = iota
	atDocuments
	atClaim
	atCharge
	atCounter
	atRead
	atCommit
	// atReply has ended its transaction. To a session that is cut, the rest of its message never comes.
	atReply
	cut
)

// world is a key, the counter of its organization, and the requests under the key. An expired key is as good as none
// (Record.Absent), so it has no state of its own.
type world struct {
	Answered, Open, Room      bool
	Runs, Charges             int8
	Losses, Freezes, Expiries int8
	Requests                  [3]request
}

// request is a request and, where its outcome was unknown, the same client's next one.
type request struct {
	At      place
	Retried bool
	// Now is the session that it waits for, and Lost one that it has abandoned.
	Now, Lost session
}

// session is a transaction on the server.
type session struct {
	At place
	// Second says that it is the one of two trips.
	Second bool
	// Repeated says that the request that has abandoned it has sent its start again.
	Repeated bool
	// Lock and Counter are the locks that it holds. Met says that another request held the key's.
	Lock, Counter, Met      bool
	Claimed, Granted, Found bool
}

// step is what is done in one go: no step of another request comes in between.
type step struct {
	name string
	// file and function do it. They are empty for what the network does, and for what was done once.
	file, function string
	// take does it, or reports that it cannot be done now. It may have changed the world then.
	take func(e *explorer, r *request, s *session) bool
}

// clientSteps are what a request does with its session, and what happens to it.
func clientSteps() []step {
	return []step{
		{"begins", "workflows/start/batch.go", "commitBatch", (*explorer).begins},
		{"begins in doubt", "workflows/start/spent.go", "split", (*explorer).beginsInDoubt},
		{"sends", "workflows/start/commit.go", "commit", (*explorer).sends},
		{"asks", "", "", (*explorer).asks},
		{"reads", "", "", (*explorer).reads},
		{"hears", "workflows/start/batch.go", "commitDistinct", (*explorer).hears},
		{"settles its key", "workflows/start/settle.go", "settleKeys", (*explorer).settlesKey},
		{"settles its quota", "users/quota/sql_quota.go", "OpenCounters", (*explorer).settlesQuota},
		{"loses its connection", "workflows/start/errors.go", "commitError", (*explorer).loses},
		{"loses half its message", "workflows/start/errors.go", "commitError", (*explorer).losesHalf},
		{"freezes", "", "", (*explorer).freezes},
		{"sees its key expire", "", "", (*explorer).expires},
	}
}

// serverSteps are what the server does in a session, abandoned or not.
func serverSteps() []step {
	return []step{
		{"documents are inserted", "validations/sql_create.go", "QueueDocuments", (*explorer).insertsDocuments},
		{"claims", "core/idempotency/sql_claim.go", "QueueClaims", (*explorer).claims},
		{"charges", "users/quota/sql_quota.go", "QueueCharges", (*explorer).charges},
		{"locks the counter", "", "", (*explorer).locksCounter},
		{"commits", "core/db/batch.go", "commit", (*explorer).commits},
		{"is ended", "core/db/session.go", "setSession", (*explorer).isEnded},
	}
}

func (r *request) goOn(from, to place) bool {
	at := r.At
	r.At = to
	return at == from
}

// end ends a request, of whose session nothing matters any more.
func (r *request) end(at place) bool {
	r.At, r.Now = at, session{}
	return true
}

func (e *explorer) begins(r *request, _ *session) bool { return r.goOn(toBegin, toSend) }

// beginsInDoubt is the beginning where the quota was used up lately.
func (e *explorer) beginsInDoubt(r *request, _ *session) bool {
	if e.twoTrips {
		return r.goOn(toBegin, toAsk)
	}
	return r.goOn(toBegin, toSettle)
}

func (e *explorer) sends(r *request, s *session) bool {
	*s = session{At: atDocuments}
	if e.keysFirst {
		s.At = atClaim
	}
	return r.goOn(toSend, waiting)
}

// asks sends the first message of two.
func (e *explorer) asks(r *request, s *session) bool {
	*s = session{At: atClaim, Second: true}
	return r.goOn(toAsk, waiting)
}

// reads gets the answer to the first message of two, reads the key, and sends the second message.
func (e *explorer) reads(r *request, s *session) bool {
	s.Found, s.Granted = e.now.Answered, s.Claimed && e.now.Room
	return r.At == waiting && s.goOn(atRead, atCommit)
}

func (e *explorer) hears(r *request, s *session) bool {
	switch {
	case r.At != waiting || s.At != atReply:
		return false
	case s.Granted:
		return r.end(answered)
	case e.twoTrips && !s.Second:
		return r.goOn(waiting, toAsk)
	case !s.Second:
		return r.goOn(waiting, toSettle)
	case s.Found:
		return r.end(answered)
	case s.Claimed:
		return r.end(answered)
	}
	return e.refuse(r, s)
}

func (e *explorer) settlesKey(r *request, s *session) bool {
	switch {
	case r.At != toSettle:
		return false
	case s.Claimed:
	case e.now.Answered:
		return r.end(answered)
	case s.At != none:
		return e.refuse(r, s)
	}
	return r.goOn(toSettle, toOpen)
}

// refuse answers that another request is in progress.
func (e *explorer) refuse(r *request, s *session) bool {
	if !s.Met {
		e.find(refusedAlone)
	}
	return r.end(refused)
}

func (e *explorer) settlesQuota(r *request, _ *session) bool {
	switch {
	case r.At != toOpen:
		return false
	case !e.now.Room:
		return r.end(answered)
	}
	e.now.Open = true
	return r.goOn(toOpen, toSend)
}

// loses is a connection that is lost behind the message. The server need not notice it.
func (e *explorer) loses(r *request, s *session) bool {
	if r.At != waiting || e.now.Losses == 0 || r.Lost.At != none {
		return false
	}
	e.now.Losses--
	if s.At != atReply {
		r.Lost = *s
	}
	r.Lost.Repeated = e.repeatsLost && (!e.twoTrips || s.Second && s.At < atCommit)
	switch *s = (session{}); {
	case r.Lost.Repeated && e.twoTrips:
		r.At = toAsk
	case r.Lost.Repeated:
		r.At = toSend
	case !r.Retried:
		r.At, r.Retried = toBegin, true
	default:
		r.At = answered
	}
	return true
}

func (e *explorer) losesHalf(r *request, s *session) bool {
	if s.At == atReply {
		return false
	}
	s.At = cut
	return e.loses(r, s)
}

// freezes is a process that stops, for as long as it likes, while it sends a large document.
func (e *explorer) freezes(r *request, s *session) bool {
	if e.now.Freezes == 0 || s.At != atDocuments {
		return false
	}
	e.now.Freezes--
	s.At = cut
	return r.goOn(waiting, frozen)
}

func (e *explorer) expires(r *request, _ *session) bool {
	if e.now.Expiries == 0 || !e.now.Answered || r != &e.now.Requests[0] {
		return false
	}
	e.now.Expiries--
	e.now.Answered = false
	return true
}

func (s *session) goOn(from, to place) bool {
	at := s.At
	s.At = to
	return at == from
}

func (e *explorer) insertsDocuments(_ *request, s *session) bool {
	if e.keysFirst {
		return s.goOn(atDocuments, atCharge)
	}
	return s.goOn(atDocuments, atClaim)
}

func (e *explorer) claims(r *request, s *session) bool {
	if s.At != atClaim {
		return false
	}
	meetsItself := r.Lost.Lock && r.Lost.Repeated
	s.Lock, s.Met = !e.any(isLocked), e.any(isLocked) && !meetsItself
	s.Claimed = s.Lock && (!e.now.Answered || e.takesLiveKeys)
	switch {
	case s.Second:
		s.At = atCounter
	case e.twoTrips && !s.Claimed:
		s.end(r)
	case e.keysFirst:
		s.At = atDocuments
	default:
		s.At = atCharge
	}
	return true
}

// charges waits for whoever has locked the counter.
func (e *explorer) charges(r *request, s *session) bool {
	if s.At != atCharge || s.Claimed && e.any(hasCounter) {
		return false
	}
	s.Granted = s.Claimed && e.now.Open && e.now.Room
	s.Counter = s.Granted && !e.chargesApart
	if s.Granted && e.chargesApart {
		e.now.Charges++
	}
	if e.twoTrips && !s.Granted {
		s.end(r)
		return true
	}
	return s.goOn(atCharge, atCommit)
}

// locksCounter opens the counter where it is missing, and locks it, in the first message of two.
func (e *explorer) locksCounter(_ *request, s *session) bool {
	if s.At != atCounter {
		return false
	}
	s.Lock = s.Lock || e.triesAgain && !e.any(isLocked)
	demanded := s.Claimed || e.triesAgain && s.Lock
	if demanded && e.any(hasCounter) {
		return false
	}
	s.Counter = demanded
	return s.goOn(atCounter, atRead)
}

func (e *explorer) commits(r *request, s *session) bool {
	if s.At != atCommit {
		return false
	}
	if s.Granted {
		if e.now.Answered {
			e.find(twoRuns)
		}
		e.now.Answered = true
		e.now.Runs++
		if !e.chargesApart {
			e.now.Charges++
		}
	}
	e.now.Answered = e.now.Answered || s.Claimed && e.keepsKeys
	e.now.Open = e.now.Open || s.Counter
	s.end(r)
	return true
}

// end ends the transaction. Nobody waits for the answer of an abandoned session.
func (s *session) end(r *request) {
	s.At, s.Lock, s.Counter = atReply, false, false
	if s == &r.Lost {
		*s = session{}
	}
}

// isEnded is the server that notices that the client has gone, and rolls back.
func (e *explorer) isEnded(r *request, s *session) bool {
	if s != &r.Lost || s.At == none {
		return false
	}
	s.end(r)
	return true
}
