package clients

import (
	"math/rand/v2"
	"net/http"
	"sync"
)

// Storm breaks requests at random and counts how.
type Storm struct {
	mu    sync.Mutex
	faces *rand.Rand
	tally map[string]int
}

// NewStorm makes a storm that is the same for the same seed and order of requests.
func NewStorm(seed uint64) *Storm {
	return &Storm{faces: rand.New(rand.NewPCG(seed, seed)), tally: make(map[string]int)}
}

// stormFaults are what happens to so many of a hundred requests. The others pass.
func stormFaults() []struct {
	percent int
	fault   Fault
} {
	text := map[string]string{"Content-Type": "text/plain"}
	const busy = "upstream connect error"
	return []struct {
		percent int
		fault   Fault
	}{
		{8, Fault{Do: dropBefore}},
		{4, Fault{Do: resetBefore}},
		{8, Fault{Do: answer, Status: http.StatusServiceUnavailable, Headers: text, Body: busy}},
		{10, Fault{Do: dropAfter}},
		{4, Fault{Do: resetAfter}},
		{5, Fault{Do: answerAfter, Status: http.StatusServiceUnavailable, Headers: text, Body: busy}},
		{8, Fault{Do: cut}},
		{3, Fault{Do: late}},
		{5, Fault{Do: buffer}},
	}
}

// Next chooses what is done with a request.
func (s *Storm) Next(string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	chosen := Fault{Do: pass}
	face := s.faces.IntN(100) // of a hundred
	for _, f := range stormFaults() {
		if face -= f.percent; face < 0 {
			chosen = f.fault
			break
		}
	}
	s.tally[chosen.Do]++
	return chosen
}

// Tally is how often the storm did what.
func (s *Storm) Tally() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tally
}
