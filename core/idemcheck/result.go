package idemcheck

import (
	"fmt"
	"time"
)

// Profile is whose promises an API is held to.
type Profile string

// The profiles: the draft of the IETF, the documentation of Stripe, and what this product promises.
const (
	ProfileIETF   Profile = "ietf"
	ProfileStripe Profile = "stripe"
	ProfileStrict Profile = "strict"
)

// Profiles lists the profiles.
func Profiles() []Profile { return []Profile{ProfileIETF, ProfileStripe, ProfileStrict} }

// Level is how much a profile demands that a case holds.
type Level string

// The levels. What differs is a choice that the profile leaves to an API.
const (
	LevelMust    Level = "must"
	LevelShould  Level = "should"
	LevelDiffers Level = "differs"
)

// Outcome is how a case has ended.
type Outcome string

// The outcomes. What is not judged had no means to be judged, or its first request was not answered with success.
const (
	OutcomePassed   Outcome = "passed"
	OutcomeFailed   Outcome = "failed"
	OutcomeDiffers  Outcome = "differs"
	OutcomeUnjudged Outcome = "unjudged"
)

// Result is the outcome of a case.
type Result struct {
	Case    Case    `json:"case"`
	Level   Level   `json:"level"`
	Outcome Outcome `json:"outcome"`
	// Reason says what is wrong, or why the case was not judged.
	Reason string `json:"reason,omitempty"`
	// Seen are the requests of the case with their answers, in the order of the answers.
	Seen []Exchange `json:"seen"`
	MS   int64      `json:"ms"`
}

// Exchange is a request as a command of curl, and its answer in a few words.
type Exchange struct {
	Curl   string `json:"curl,omitempty"`
	Answer string `json:"answer"`
}

// Report is what was found out about an API.
type Report struct {
	Target   string    `json:"target"`
	Profile  Profile   `json:"profile"`
	Seed     uint64    `json:"seed"`
	At       time.Time `json:"at"`
	Requests int64     `json:"requests"`
	Results  []Result  `json:"results"`
}

// Count is how many cases of the level have ended so.
func (r Report) Count(level Level, outcome Outcome) int {
	n := 0
	for _, result := range r.Results {
		if result.Level == level && result.Outcome == outcome {
			n++
		}
	}
	return n
}

// Broken reports whether a case has failed that must not.
func (r Report) Broken() bool { return r.Count(LevelMust, OutcomeFailed) > 0 }

// Conclusive reports whether a case that must hold was judged.
func (r Report) Conclusive() bool {
	return r.Count(LevelMust, OutcomeFailed)+r.Count(LevelMust, OutcomePassed) > 0
}

// The errors of a case: a failure, one that effects were counted for, and what keeps a case from being judged.
type (
	failureError  struct{ reason string }
	unjudgedError struct{ reason string }
	effectsError  struct{ failureError }
)

func (e failureError) Error() string  { return e.reason }
func (e unjudgedError) Error() string { return e.reason }

func failure(format string, args ...any) error { return failureError{fmt.Sprintf(format, args...)} }

func unjudged(format string, args ...any) error { return unjudgedError{fmt.Sprintf(format, args...)} }
