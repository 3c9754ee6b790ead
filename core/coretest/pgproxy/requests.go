package pgproxy

import "slices"

// requests follows what a client asks for. A pipeline is sent when the client asks for its answer, so that a commit
// inside is sent or lost with all that belongs to it.
type requests struct {
	grammar    grammar
	statements map[string]string
	portals    map[string]portal

	inTx    bool
	copying bool
	// ending is set when a COMMIT has been gathered, and bundled when changes of its transaction have been gathered
	// with it, so that their effects are not known yet.
	ending, bundled bool
	commit          Commit
	// gathered is how many bytes have been gathered, executed how many of them end with what is executed last, and
	// commitAt where the messages of a commit begin.
	gathered, executed, commitAt int

	// asks tells whether the gathered messages ask for an answer of their own, and fresh whether they begin or end a
	// transaction.
	asks, fresh bool
	// done tells whether the gathered messages end what is executed, and with it a transaction of its own.
	done bool
}

// portal is a statement with its parameters, of which only the number of rows counts.
type portal struct {
	sql     string
	members int
}

func newRequests(g grammar) requests {
	return requests{grammar: g, statements: make(map[string]string), portals: make(map[string]portal)}
}

// take follows the next message and reports whether it ends a pipeline.
func (r *requests) take(kind byte, payload []byte) bool {
	r.gathered += headSize + len(payload)
	ended := r.follow(kind, payload)
	switch {
	case ended:
		r.gathered, r.executed = 0, 0
	case kind == executeKind:
		r.executed = r.gathered
	}
	return ended
}

func (r *requests) follow(kind byte, payload []byte) bool {
	r.asks, r.done = false, false
	switch kind {
	case parseKind:
		name, rest := text(payload)
		r.statements[name], _ = text(rest)
		return false
	case bindKind:
		name, rest := text(payload)
		statement, parameters := text(rest)
		sql := r.statements[statement]
		r.portals[name] = portal{sql, r.grammar.members(sql, parameters)}
		return false
	case executeKind:
		name, _ := text(payload)
		r.note(r.portals[name])
		return false
	case 'D', 'C': // Describe, Close
		return false
	case queryKind:
		sql, _ := text(payload)
		r.note(portal{sql, 1})
		r.copying = r.grammar.copy.MatchString(sql)
		r.asks, r.done = true, !r.copying
	case syncKind:
		r.asks, r.done = true, true
	case 'c': // CopyDone
		r.done, r.copying = r.copying, false
	}
	return true
}

// note follows a statement that is executed.
func (r *requests) note(p portal) {
	switch sql := p.sql; {
	case r.grammar.begin.MatchString(sql):
		r.inTx, r.fresh, r.commit = true, true, Commit{}
	case r.grammar.rollback.MatchString(sql):
		r.inTx, r.fresh, r.commit = false, true, Commit{}
	case r.grammar.commit.MatchString(sql):
		r.ending, r.commitAt = r.inTx, r.executed
	default:
		writes := r.grammar.writes(sql)
		if len(writes) > 0 {
			r.commit.Members = max(r.commit.Members, p.members)
		}
		r.commit.Writes = slices.Compact(append(r.commit.Writes, writes...))
		r.bundled = r.bundled || len(writes) > 0
	}
}

// boundary returns the commit that the gathered messages are, if they are one. A transaction that is known to have
// changed nothing has none.
func (r *requests) boundary(changed bool) (Commit, bool) {
	if !r.done {
		return Commit{}, false
	}
	commit, bundled := r.commit, r.bundled
	r.bundled = false
	switch {
	case r.ending:
		r.inTx, r.ending, r.fresh, r.commit = false, false, true, Commit{}
		return commit, len(commit.Writes) > 0 && (changed || bundled)
	case !r.inTx:
		r.commit, r.commitAt = Commit{}, 0
		return commit, len(commit.Writes) > 0
	default:
		return Commit{}, false
	}
}
