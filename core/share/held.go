// Package share divides what is limited among organizations and other clients, so that none takes what others need.
//
// No organization delays another one by more than the work that is in progress: Places is for work of this process that
// waits for its turn, Deal for the slots of all processes, and Held counts who has how much, also of what nobody waits
// for. LocalRate and SharedRate bound how often each may do something.
package share

// Held counts what each holder has of something limited, and what all have together. The zero Held is empty. The caller
// guards it.
type Held[K comparable, N int | int64] struct {
	by  map[K]N
	all N
}

// Add gives the holder so much more, or takes it back where n is below zero.
func (h *Held[K, N]) Add(holder K, n N) {
	if h.by == nil {
		h.by = make(map[K]N)
	}
	h.all += n
	if h.by[holder] += n; h.by[holder] == 0 {
		delete(h.by, holder)
	}
}

// Of returns what the holder has.
func (h *Held[K, N]) Of(holder K) N { return h.by[holder] }

// All returns what all have together.
func (h *Held[K, N]) All() N { return h.all }

// Others reports whether anybody but the holder has something.
func (h *Held[K, N]) Others(holder K) bool {
	_, own := h.by[holder]
	return len(h.by) > 1 || len(h.by) == 1 && !own
}

// Deal says how many of a total of slots each of those that want some gets now, beside what is held, and at most room
// in all.
//
// They are dealt out one by one. With n holders at work none gets more than one part in n+1 of the slots, so that the
// next holder that comes finds a slot free: a single one has half of them, however much it wants. Places can do without
// this reserve, because they may go beyond their total by one.
func Deal[K comparable](held *Held[K, int], wanting []K, slots, room int) []int {
	atWork := len(held.by)
	for _, holder := range wanting {
		if held.Of(holder) == 0 {
			atWork++
		}
	}
	most := max(1, slots/(atWork+1))
	shares := make([]int, len(wanting))
	for dealt := true; dealt && room > 0; {
		dealt = false
		for i, holder := range wanting {
			if room > 0 && held.Of(holder)+shares[i] < most {
				shares[i]++
				room--
				dealt = true
			}
		}
	}
	return shares
}
