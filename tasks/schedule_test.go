package tasks

import (
	"testing"
	"time"
)

func TestScheduleLatest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, spec, at, want string
	}{
		{"EveryMinute", "* * * * *", "2026-03-01T10:00:30Z", "2026-03-01T10:00:00Z"},
		{"OnTheTick", "0 3 * * *", "2026-03-01T03:00:00Z", "2026-03-01T03:00:00Z"},
		{"JustBeforeTheTick", "0 3 * * *", "2026-03-01T02:59:59.999Z", "2026-02-28T03:00:00Z"},
		{"Delayed", "0 3 * * *", "2026-03-01T22:15:00Z", "2026-03-01T03:00:00Z"},
		{"DelayedPastTheNextTick", "0 3 * * *", "2026-03-02T04:00:00Z", "2026-03-02T03:00:00Z"},
		{"Daily", "@daily", "2026-03-01T12:00:00Z", "2026-03-01T00:00:00Z"},
		{"WeekdayOfLastWeek", "30 6 * * 1", "2026-03-01T12:00:00Z", "2026-02-23T06:30:00Z"},
		{"ManyOnOneWeekday", "* * * * 1", "2026-03-01T12:00:00Z", "2026-02-23T23:59:00Z"},
		{"Monthly", "@monthly", "2026-03-31T23:59:59Z", "2026-03-01T00:00:00Z"},
		{"Yearly", "@yearly", "2026-12-31T23:59:59Z", "2026-01-01T00:00:00Z"},
		{"LeapDay", "0 0 29 2 *", "2028-02-28T23:59:59Z", "2024-02-29T00:00:00Z"},
		{"SkippedLeapYear", "0 0 29 2 *", "1904-02-28T23:59:59Z", "1896-02-29T00:00:00Z"},
		{"HourThatSummerTimeSkips", "30 2 * * *", "2026-03-29T12:00:00+02:00", "2026-03-29T02:30:00Z"},
		{"OtherZoneThanUTC", "0 3 * * *", "2026-03-01T03:30:00+02:00", "2026-02-28T03:00:00Z"},
		{"EveryTenMinutes", "@every 10m", "2026-03-01T10:19:59Z", "2026-03-01T10:10:00Z"},
		{"EverySecond", "@every 1s", "2026-03-01T10:19:59.7Z", "2026-03-01T10:19:59Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := parseSchedule(tt.spec)
			if err != nil {
				t.Fatalf("parse: %v", err)
			}
			got, err := s.latest(parseTime(t, tt.at))
			if err != nil {
				t.Fatalf("latest: %v", err)
			}
			if want := parseTime(t, tt.want); !got.Equal(want) {
				t.Errorf("latest = %s, want %s", got, want)
			}
		})
	}

	t.Run("ForgivesAClockThatRunsAhead", func(t *testing.T) {
		t.Parallel()
		s, err := parseSchedule("0 3 * * *")
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		got, err := s.latest(parseTime(t, "2026-03-01T02:59:57Z").Add(clockTolerance))
		if err != nil {
			t.Fatalf("latest: %v", err)
		}
		if want := parseTime(t, "2026-03-01T03:00:00Z"); !got.Equal(want) {
			t.Errorf("latest = %s, want %s, which the task was made for", got, want)
		}
	})
}

func TestParseScheduleRefuses(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{
		"Nothing":      "",
		"FourFields":   "0 3 * *",
		"BadMinute":    "61 * * * *",
		"BadDelay":     "@every soon",
		"NeverDue":     "0 0 30 2 *",
		"TimeZone":     "CRON_TZ=Europe/Berlin 0 3 * * *",
		"OldTimeZone":  "TZ=Europe/Berlin 0 3 * * *",
		"UnknownShort": "@fortnightly",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := CheckSchedule(spec); err == nil {
				t.Errorf("parsed %q, want an error", spec)
			}
		})
	}
}

func parseTime(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		tb.Fatalf("parse time: %v", err)
	}
	return at
}
