package postgres

import (
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_000_000, 0)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	var c clock
	c.note(step{at: at(10), ahead: time.Hour})
	c.note(step{at: at(20), ahead: time.Hour - 2*time.Second, back: 2 * time.Second})
	for there, want := range map[int]int{5: 5, 10: 10, 15: 10, 3600: 10, 3611: 11, 3620: 20, 3625: 27} {
		if got := c.Real(at(there)); !got.Equal(at(want)) {
			t.Errorf("%d of the database = %s, want %s", there, got, at(want))
		}
	}
	if c.Slack() != 2*time.Second || !c.WentBack(at(19), at(21)) || c.WentBack(at(5), at(19)) {
		t.Errorf("slack = %s, went back = %t", c.Slack(), c.WentBack(at(19), at(21)))
	}
}

// Times are ambiguous as far as the clock was set back by steps that followed each other at once.
func TestClockSlack(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_000_000, 0)
	for pause, want := range map[time.Duration]time.Duration{
		800 * time.Millisecond: 4 * time.Second, time.Minute: 2 * time.Second,
	} {
		var c clock
		c.note(step{at: begin, ahead: time.Hour})
		c.note(step{at: begin.Add(time.Minute), ahead: time.Hour - 2*time.Second, back: 2 * time.Second})
		c.note(step{at: begin.Add(time.Minute + pause), ahead: time.Hour - 4*time.Second, back: 2 * time.Second})
		if got := c.Slack(); got != want {
			t.Errorf("slack of two steps in %s = %s, want %s", pause, got, want)
		}
	}
}
