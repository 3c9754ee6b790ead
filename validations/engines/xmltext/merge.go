package xmltext

import (
	"fmt"
	"slices"
)

// merge lets references lead to one of several documents that are the same. A file is often reached by several
// addresses: the first one by none and by its own name, the others by ways through different folders. Documents with
// one text are the same if what they refer to is, too.
func (b *Bundle) merge() {
	first := b.firsts(func(i int) string { return string(b.documents[i].text) })
	for {
		next := b.firsts(func(i int) string {
			key := []int{first[i]}
			for _, r := range b.documents[i].references {
				key = append(key, first[r.target])
			}
			return fmt.Sprint(key)
		})
		if slices.Equal(first, next) {
			break
		}
		first = next
	}
	for _, d := range b.documents {
		for i := range d.references {
			d.references[i].target = first[d.references[i].target]
		}
	}
}

// firsts returns, for each document, the index of the first one with the same key.
func (b *Bundle) firsts(key func(index int) string) []int {
	known := map[string]int{}
	firsts := make([]int, len(b.documents))
	for i := range b.documents {
		own := key(i)
		if _, seen := known[own]; !seen {
			known[own] = i
		}
		firsts[i] = known[own]
	}
	return firsts
}
