package idemcheck

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

func triesOfRaces() map[string]func(*trial) error {
	all := map[string]func(*trial) error{
		"flight/effect": flight(func(t *trial, m message, _ answer) error {
			_, err := t.retried(m)
			return err
		}),
		"flight/answer": flight(func(_ *trial, _ message, second answer) error {
			if second.ok() || second.busy() && second.status/100 == 4 {
				return nil
			}
			return failure("it was answered %s", second)
		}),
		"flight/status": flight(func(_ *trial, _ message, second answer) error {
			if second.status != http.StatusConflict {
				return failure("it was answered %s", second)
			}
			return nil
		}),
		"flight/retry-after": flight(func(_ *trial, _ message, second answer) error {
			if !second.ok() && second.header.Get("Retry-After") == "" {
				return failure("%s has no Retry-After", second)
			}
			return nil
		}),
		"flight/early": flight(func(t *trial, m message, second answer) error {
			if !second.ok() {
				return nil
			}
			return t.wantEffects(m, 1)
		}),
		"race/mixed": (*trial).mixedRace,
	}
	for _, crowd := range []int{2, 10, 100} {
		all["race/"+strconv.Itoa(crowd)] = func(t *trial) error { return t.race(crowd) }
	}
	return all
}

// flight sends the slow request again while it is under way, and judges when the second one is answered.
func flight(judge func(t *trial, m message, second answer) error) func(*trial) error {
	return func(t *trial) error {
		m := t.message(1).with(*t.Description.Slow)
		first := make(chan answer, 1)
		go func() { first <- t.send(m.alone()) }()
		if err := t.pause(underWay); err != nil {
			return err
		}
		second := t.send(m)
		err := judge(t, m, second)
		got := <-first
		switch {
		case !got.ok():
			return unjudged("the first request was answered %s", got)
		case got.came.Sub(second.sent) < underWay:
			return unjudged("the slow request was not under way for %v when the second one was sent", underWay)
		}
		return err
	}
}

// underWay is for how long a slow request is under way before and after another one is sent.
const underWay = 300 * time.Millisecond

func (t *trial) race(crowd int) error {
	m := t.message(1)
	answers := t.atOnce(slices.Repeat([]message{m}, crowd)...)
	final, err := t.retried(m)
	if err != nil {
		return err
	}
	for _, got := range answers {
		if got.ok() && !got.like(final) {
			return failure("one request was answered %s and another one %s", got, final)
		}
		if !got.ok() && !got.busy() {
			return failure("one request was answered %s", got)
		}
	}
	return nil
}

func (t *trial) mixedRace() error {
	const half = 10
	one := t.message(1)
	other := one.with(t.Description.changed("body")[0])
	answers := t.atOnce(slices.Repeat([]message{one, other}, half)...)
	winners := map[bool]*answer{}
	for i := range answers {
		got, isOne := &answers[i], i%2 == 0
		switch {
		case !got.ok():
		case winners[!isOne] != nil:
			return failure("both requests succeeded under one key: %s and %s", winners[!isOne], got)
		default:
			winners[isOne] = got
		}
	}
	winner := one
	if winners[false] != nil {
		winner = other
	}
	got := t.settle(winner)
	if got.refused() && len(winners) == 0 {
		winner = other
	}
	_, err := t.retried(winner)
	return err
}
