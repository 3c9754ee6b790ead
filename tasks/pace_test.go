package tasks

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	t.Parallel()
	type look struct {
		after    time.Duration
		finished int64
	}
	tests := []struct {
		name  string
		looks []look
		want  int
	}{
		{"OneWaitsWhereNothingIsKnown", []look{{0, 1000}}, 1},
		{"FollowsTheWorkers", []look{{0, 0}, {time.Second, 1000}, {time.Second, 2000}}, 50},
		{"IsSmoothedOverShortLooks", []look{{0, 0}, {20 * time.Millisecond, 20}, {20 * time.Millisecond, 40}}, 38},
		{"IsNotMeasuredWithinAMoment", []look{{0, 0}, {time.Second, 1000}, {time.Millisecond, 1100}}, 50},
		{"EndsWithTheWork", []look{{0, 0}, {time.Second, 1000}, {time.Second, 1000}}, 1},
		{"StartsOverWhenRedisForgets", []look{{0, 0}, {time.Second, 5000}, {time.Second, 10}}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p pace
			now := time.Now()
			for _, l := range tt.looks {
				now = now.Add(l.after)
				p.note(l.finished, now)
			}
			if got := p.ahead(); got != tt.want {
				t.Errorf("ahead = %d, want %d", got, tt.want)
			}
		})
	}
}
