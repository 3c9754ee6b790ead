package energyplus

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
)

// dateKind says what a text is that should be a date.
type dateKind byte

const (
	notDate dateKind = iota
	// dayOfYear is a month and a day, such as 12/31 or 31 Dec.
	dayOfYear
	// otherDate is a number of a day, or a weekday of a month such as the last Sunday in March.
	otherDate
)

// lastDay is the 31st of December in a leap year.
const lastDay = 366

// monthNames and weekdayNames are what the first three letters of such words are.
var (
	monthNames   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

// dayIn is a day of a leap year. One that its month does not have is in the next.
func dayIn(month, day int) time.Time {
	const leapYear = 2024
	return time.Date(leapYear, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

// ordinalOf is the number of a day in a leap year, 0 where there is no such day.
func ordinalOf(month, day int) int {
	date := dayIn(month, day)
	if int(date.Month()) != month || date.Day() != day {
		return 0
	}
	return date.YearDay()
}

// readDate reads a date as EnergyPlus does, which looks at the first letters of words and ignores separators. It
// returns the number of a day of a year.
func readDate(text string) (int, dateKind) {
	words, hasEndings := dateWords(text)
	switch {
	case len(words) == 1 && numberOf(words[0]) >= 0 && numberOf(words[0]) <= lastDay:
		return 0, otherDate
	case len(words) == 2:
		return dateOf(monthAndDay(words))
	case len(words) == 3 && hasEndings && isWeekdayOfMonth(words):
		return 0, otherDate
	case len(words) == 3 && !hasEndings:
		return dateWithYear(words)
	default:
		return 0, notDate
	}
}

func dateOf(month, day int) (int, dateKind) {
	if ordinal := ordinalOf(month, day); ordinal > 0 {
		return ordinal, dayOfYear
	}
	return 0, notDate
}

// monthAndDay reads 12/31, 31 Dec and Dec 31.
func monthAndDay(words []string) (int, int) {
	first, second := numberOf(words[0]), numberOf(words[1])
	switch {
	case first < 0:
		return wordIn(words[0], monthNames), second
	case second < 0:
		return wordIn(words[1], monthNames), first
	default:
		return first, second
	}
}

// isWeekdayOfMonth reports whether three words are such as those of the 3rd Sunday in March.
func isWeekdayOfMonth(words []string) bool {
	const mostWeeks = 5
	// The last one has lost its ending.
	isCount := words[0] == "la" || numberOf(words[0]) >= 0 && numberOf(words[0]) <= mostWeeks
	inOrder := wordIn(words[1], weekdayNames) > 0 && wordIn(words[2], monthNames) > 0
	reversed := wordIn(words[1], monthNames) > 0 && wordIn(words[2], weekdayNames) > 0
	return isCount && (inOrder || reversed)
}

// dateWords parts a date, and says whether words had endings such as those of 1st, or were followed by of or in.
func dateWords(text string) ([]string, bool) {
	text = strings.NewReplacer("/", " ", ":", " ", "-", " ").Replace(model.Fold(text))
	hasEndings := false
	for _, ending := range []string{"st ", "nd ", "rd ", "th ", "of ", "in "} {
		if strings.Contains(text, ending) {
			text = strings.ReplaceAll(text, ending, "   ")
			hasEndings = true
		}
	}
	return strings.Fields(text), hasEndings
}

// dateWithYear reads 12/31/2020 and 2020/12/31.
func dateWithYear(words []string) (int, dateKind) {
	const earliestYear = 100
	first, second, third := numberOf(words[0]), numberOf(words[1]), numberOf(words[2])
	switch {
	case first > earliestYear:
		return dateOf(second, third)
	case third > earliestYear:
		return dateOf(first, second)
	default:
		return 0, notDate
	}
}

// numberOf is -1 for what is no number. EnergyPlus cuts decimals off.
func numberOf(word string) int {
	value, err := strconv.ParseFloat(word, 64)
	if err != nil || value < 0 || value > 1e6 {
		return -1
	}
	return int(value)
}

// wordIn is the place of a word in a list from 1 on by its first three letters, 0 where it is not in it.
func wordIn(word string, list []string) int {
	const letters = 3
	return slices.Index(list, word[:min(letters, len(word))]) + 1
}
