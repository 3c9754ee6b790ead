package rules

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// unique compares the elements of a list, or what stands at a path inside of each.
func unique(o *operand) operator {
	path := o.member()
	return func(s subject) outcome {
		items, ok := s.elements()
		if !ok {
			return s.misfit("a list")
		}
		seen := make(map[string]int, len(items))
		again, twin, duplicates, lacking := 0, 0, 0, -1
		for i, item := range items {
			value, known := path.find(item)
			if !known {
				lacking = i
				continue
			}
			form := canonical(value)
			first, twice := seen[form]
			if !twice {
				seen[form] = i
				continue
			}
			if duplicates == 0 {
				again, twin = i, first
			}
			duplicates++
		}
		switch {
		case duplicates > 0:
			message := fmt.Sprintf("element %d equals element %d", again, twin)
			if duplicates > 1 {
				message += fmt.Sprintf("; the list has %d duplicates", duplicates)
			}
			return outcome{verdictFails, message, append([]string{strconv.Itoa(again)}, path.names()...)}
		case lacking >= 0:
			return outcome{verdict: verdictOpen, message: fmt.Sprintf("element %d has no %s", lacking, path.text)}
		default:
			return outcome{}
		}
	}
}

// census is how the elements of a list fare with an assertion.
type census struct {
	total  int
	counts [verdictOpen + 1]int
	// first are the first outcomes of each verdict.
	first [verdictOpen + 1]outcome
}

// poll applies the assertion of an operand to each element of a list. Elements of the telling verdict decide; without
// them those that are left open do.
func poll(o *operand, telling verdict, decided, otherwise func(c *census) outcome) operator {
	path, check := o.assertion()
	return func(s subject) outcome {
		items, ok := s.elements()
		if !ok {
			return s.misfit("a list")
		}
		c := &census{total: len(items)}
		for i, item := range items {
			found := outcome{verdict: verdictOpen, message: "has no " + path.text}
			if value, known := path.find(item); known {
				found = check(s.with(value).quieter(c))
			}
			c.count(i, path, found)
		}
		switch {
		case c.counts[telling] > 0:
			return decided(c)
		case c.counts[verdictOpen] > 0:
			return outcome{verdict: verdictOpen, message: c.first[verdictOpen].message}
		default:
			return otherwise(c)
		}
	}
}

// quieter asks for no message where the list already has one.
func (s subject) quieter(c *census) subject {
	for verdict, n := range c.counts {
		s.quiet[verdict] = s.quiet[verdict] || n > 0
	}
	return s
}

func (c *census) count(i int, path treePath, found outcome) {
	c.counts[found.verdict]++
	if c.counts[found.verdict] > 1 {
		return
	}
	found.message = fmt.Sprintf("element %d: %s", i, found.message)
	found.below = slices.Concat([]string{strconv.Itoa(i)}, path.names(), found.below)
	c.first[found.verdict] = found
}

// satisfied is the outcome of a list about which nothing is to be said.
func satisfied(*census) outcome { return outcome{} }

func anyElement(o *operand) operator {
	return poll(o, verdictHolds, satisfied, func(c *census) outcome {
		message := "none of " + engine.Plural(c.total, "element", "elements") + " fits"
		return outcome{verdict: verdictFails, message: message}
	})
}

func allElements(o *operand) operator {
	return poll(o, verdictFails, func(c *census) outcome {
		first := c.first[verdictFails]
		return outcome{verdictFails, first.message + c.rest(verdictFails), first.below}
	}, satisfied)
}

func noElement(o *operand) operator {
	return poll(o, verdictHolds, func(c *census) outcome {
		first := c.first[verdictHolds]
		message := "element " + first.below[0] + " is not allowed" + c.rest(verdictHolds)
		return outcome{verdictFails, message, first.below}
	}, satisfied)
}

// rest says how many elements fare like the one that is named.
func (c *census) rest(v verdict) string {
	if c.counts[v] == 1 {
		return ""
	}
	return fmt.Sprintf(", %d of %d elements in all", c.counts[v], c.total)
}
