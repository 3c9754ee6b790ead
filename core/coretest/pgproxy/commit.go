package pgproxy

import (
	"encoding/binary"
	"regexp"
	"strings"
)

// Commit is a commit boundary: the moment at which changes of a client become permanent. It is the COMMIT of a
// transaction that has changed at least one row, or the end of a statement that may change rows outside of any
// transaction, which commits by itself. What only reads, locks or changes nothing in a transaction has no boundary.
type Commit struct {
	// Writes are the changes in their order, each as a verb and a table: "update validation_runs". Changes of one table
	// that follow each other are one.
	Writes []string
	// Members is how many share the commit: the most rows that one of its changes takes from arrays of parameters.
	Members int
	// Backend is the process of the server that commits.
	Backend int
}

// String joins the writes, so that commits that do the same have the same name.
func (c Commit) String() string { return strings.Join(c.Writes, ", ") }

// grammar finds in SQL what matters to transactions. It takes words for what they look like, also inside of literals,
// which is enough for statements that carry their values as parameters.
type grammar struct {
	write, copy, begin, commit, rollback, array *regexp.Regexp
}

func newGrammar() grammar {
	return grammar{
		write: regexp.MustCompile(`(?i)\b(insert\s+into|delete\s+from|merge\s+into|update)\s+(?:only\s+)?"?(\w+)"?` +
			`((?:\s+(?:as\s+)?\w+)?\s+set\b)?`),
		copy:     regexp.MustCompile(`(?i)^\s*copy\s+"?(\w+)"?.*\sfrom\s+stdin`),
		begin:    regexp.MustCompile(`(?i)^\s*(begin|start\s+transaction)\b`),
		commit:   regexp.MustCompile(`(?i)^\s*(commit|end)\b`),
		rollback: regexp.MustCompile(`(?i)^\s*(rollback|abort)\s*(work|transaction)?\s*;?\s*$`),
		array:    regexp.MustCompile(`\$1::\w+\[\]`),
	}
}

// writes lists the changes that a statement may make.
func (g grammar) writes(sql string) []string {
	if table := g.copy.FindStringSubmatch(sql); table != nil {
		return []string{"copy " + table[1]}
	}
	var found []string
	for _, parts := range g.write.FindAllStringSubmatch(sql, -1) {
		verb := strings.ToLower(strings.Fields(parts[1])[0])
		// FOR UPDATE OF and DO UPDATE SET are no statements of their own.
		if verb == "update" && (parts[3] == "" || strings.EqualFold(parts[2], "set")) {
			continue
		}
		found = append(found, verb+" "+strings.ToLower(parts[2]))
	}
	return found
}

// members reads how many rows a statement takes: the length of its first parameter where that is an array. The
// parameters are those of a Bind, whose arrays are in binary.
func (g grammar) members(sql string, parameters []byte) int {
	const (
		short = 2
		// What comes before the length of an array: that of the value, its dimensions, its flags and its type.
		head = 16
	)
	if !g.array.MatchString(sql) || len(parameters) < short {
		return 1
	}
	formats := short + short*int(binary.BigEndian.Uint16(parameters))
	first := parameters[min(formats+short, len(parameters)):]
	if len(first) < head+lengthSize || binary.BigEndian.Uint32(first[lengthSize:]) != 1 {
		return 1
	}
	return int(binary.BigEndian.Uint32(first[head:]))
}
