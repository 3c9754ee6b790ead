package rules_test

import (
	"fmt"
	"strings"
	"testing"
)

// bill is the document of firstTries and comparisons.
const bill = `{
	"net": 100, "vat": 19, "total": 119, "count": 7, "year": 2026, "number": "R-2026-0042", "currency": "EUR",
	"a": 0.1, "b": 0.2, "c": 0.3, "none": [], "paid": true, "issued": "2026-03-01", "due": "2026-03-31",
	"lines": [{"id": 1, "price": 19.99, "quantity": 2}, {"id": 2, "price": 60.02, "quantity": 1}],
	"readings": [3, 5, 5, 9], "nil": null, "rate": 1.005, "box": {"length": 40}, "android": {"and": {"or": true}}
}`

// firstTries are rules as people write them first. All hold for the bill.
var firstTries = []string{
	// Numbers of all types meet: those of documents are decimals, sizes are whole, and so is a 2 in a rule.
	"avg(doc.readings) / 2 == 2.75", "doc.count + 1 == 8", "doc.count * 2 == 14", "doc.lines[0].id + 1 == 2",
	"math.round(doc.total * 100) / 100 == 119", "doc.year % 2 == 0", "doc.readings.all(v, v % 1 == 0)",
	"doc.readings.size() * 1.5 == 6", "sum([60, 40]) == 100", "sum(doc.readings) == 22", "sum(doc.readings) > 21",
	"(doc.net + doc.vat) / doc.lines.size() < 100", "doc.total / doc.lines.size() == 59.5",
	"size(doc.readings) % 2 == 0 && sum(doc.readings) % 4 == 2", "7.0 % 4.0 == 3.0 && doc.total % 1 == 0",
	"sum(doc.readings) - size(doc.readings) == 18", "size(doc.readings) - sum(doc.readings) == -18",
	"2 * doc.net == 200 && doc.net * 0.19 == doc.vat", "-doc.count < 0", "size(doc.lines) == 2.0",
	"sum([1]) == 1 && 1 == sum([1]) && size([1]) != 1.5", "size(doc.none) < 0.5 && avg(doc.readings) >= 5",

	// A quotient has decimals, and is none by zero.
	"7 / 2 == 3.5", "size(doc.lines) / size(doc.readings) == 0.5", "int(7 / 2) == 3", "math.trunc(7 / 2) == 3",
	"size(doc.none) == 0 || doc.total / size(doc.none) > 1", "share(doc.vat, doc.net) == 0.19 && share(1, 4) == 0.25",
	"percent(doc.vat, doc.total) == '16.0'",

	// Branches of a condition.
	"(doc.paid ? 1 : 2.5) == 1", "(doc.paid ? size(doc.lines) : sum(doc.readings)) == 2",
	"(doc.paid ? 0.5 : doc.year > 2000 ? 1 : 2.5) < 1", "(doc.net > 50 ? doc.vat : 0) == 19",
	"(doc.currency == 'EUR' ? 'a' : doc.currency) == 'a'",

	// Functions that need a whole number.
	"lists.range(doc.count).size() == 7", "doc.number.substring(doc.count) == '0042'",
	"doc.number.substring(doc.count - 5, doc.count - 1) == '2026'", "doc.number.charAt(doc.count - 7) == 'R'",
	"doc.readings[doc.count - 4] == 9", "doc.readings[size(doc.readings) / 2] == 5",
	"doc.readings.slice(1, doc.lines[0].quantity + 1) == [5, 5]",
	"doc.readings.slice(0, size(doc.readings) / 2) == [3, 5]",
	"math.bitAnd(doc.count, 3) == 3", "doc.number.split('-', doc.lines[0].quantity).size() == 2",
	"'%d lines'.format([doc.count]) == '7 lines' && '%.2f'.format([doc.count]) == '7.00'",
	"math.round(size(doc.lines)) == 2 && math.floor(doc.count / 2) == 3 && math.ceil(7 / 2) == 4",
	"math.abs(doc.vat - doc.net) == 81 && math.sqrt(doc.net) == 10 && math.greatest(doc.net, 1, 2.5) == 100",

	// Lists of numbers.
	"doc.readings.sum() == 22 && doc.readings.avg() == 5.5 && doc.readings.min() == 3 && doc.readings.max() == 9",
	"doc.lines.map(l, l.price * l.quantity).sum() == 100", "doc.readings.percentile(50) == 5",
	"min(doc.readings) == 3 && max(doc.lines.map(l, l.id)) == 2", "doc.readings == [3, 5, 5, 9]",
	"[1, 2] == [1.0, 2.0] && [1.0, 2.5] != [1, 2]", "5 in doc.readings && !(4 in doc.readings)",
	"lists.range(3).map(i, i * 0.5) == [0, 0.5, 1]", "doc.lines.all(n, l, l.id == n + 1)",

	"max(doc.net, doc.vat) == 100 && min(doc.net, doc.vat, 3.5) == 3.5 && avg(doc.net, size(doc.lines)) == 51",
	"doc.lines.sum(l, l.price * l.quantity) == 100 && doc.lines.map(l, l.id).contains(2) && [1, 2].contains(2)",
	"round(doc.a * 10) == 1 && abs(doc.vat - doc.net) == 81 && range(3).size() == 3 && abs(size(doc.none)) == 0",

	// Money.
	"near(doc.a + doc.b, doc.c, 0.005)", "near(doc.net + doc.vat, doc.total, 0)", "near(0.3, 0.295, 0.005)",
	"!near(doc.net, doc.total, 18.99) && near('19.00', doc.vat, 0.01)",

	// Times.
	"timestamp(doc.due) - timestamp(doc.issued) <= duration('30d')", "duration('1d12h') == duration('36h')",
	"timestamp(doc.issued) + duration('0.5d') > timestamp(doc.issued)", "doc.issued.getFullYear() == doc.year",
	"doc.due - doc.issued == duration('30d') && doc.issued + duration('4w') < timestamp(doc.due)",
	"doc.due > timestamp('2026-03-30') && timestamp('2026-03-30') <= doc.due && doc.due - duration('2d') < doc.due",
	"doc.due > doc.issued && doc.number.contains(string(doc.year)) && doc.number.endsWith('42')",
}

// spelled are rules in the words of Python, JavaScript, SQL and spreadsheets, which hold for the bill, and do not after
// a change of the bill.
var spelled = []struct{ assert, old, changed string }{
	{"doc.net > 50 and doc.vat < 20 or doc.year == 1", `"vat": 19`, `"vat": 21`},
	{"not doc.net == 5 && NOT (doc.vat > 50 OR doc.year <> 2026)", `"net": 100`, `"net": 5`},
	{"not doc.nil == None or all([not (not doc.net == 100), True])", `"net": 100`, `"net": 5`},
	{"doc.net === 100 && doc.vat !== 20 || false // and, or", `"net": 100`, `"net": 10`},
	{"doc.currency in ['and', 'or', \"not\", r'===', 'EUR'] and doc.android.and.or", `"EUR"`, `"USD"`},
	{"doc.nil is None and doc.paid is not NULL and True", `"nil": null`, `"nil": 1`},
	{"len(doc.lines) == 2 and LEN(doc.number) == 11", `"R-2026-0042"`, `"R-2026"`},
	{"doc.lines.length == 2 && doc.currency.length == 3 && doc.box.length == 40", `"EUR"`, `"EURO"`},
	{"doc.box.length == 40", `"length": 40`, `"length": 41`},
	{"date(doc.due) > date(doc.issued)", `"2026-03-31"`, `"2026-02-01"`},
	{"(date(doc.due) - datetime(doc.issued)).days <= 30", `"2026-03-31"`, `"2026-04-01"`},
	{"YEAR(doc.due) == 2026 and month(doc.due) == 3 and day(doc.due) == 31", `"2026-03-31"`, `"2026-04-30"`},
	{"datetime.fromisoformat(doc.due).month == 3 && new Date(doc.issued).day == 1", `"2026-03-31"`, `"2026-04-30"`},
	{"round(doc.rate * doc.net, 2) == 100.5 and ROUND(1.005, 2) == 1.01", `"rate": 1.005`, `"rate": 1.0051`},
	{"Math.abs(doc.vat - doc.net) == 81 and Math.max(1, doc.net) == 100", `"vat": 19`, `"vat": 20`},
	{"upper(doc.currency) == doc.currency && doc.currency.toUpperCase() == 'EUR'", `"EUR"`, `"eur"`},
	{"doc.currency.toLowerCase() == lower(doc.currency) && TRIM(doc.currency) == 'EUR'", `"EUR"`, `"EUR."`},
	{"doc.number.startswith('R-') and doc.number.endswith('42')", `"R-2026-0042"`, `"R-2026-0043"`},
	{"doc.readings.includes(9) && doc.number.includes('2026')", `5, 9]`, `5, 8]`},
	{"sorted(doc.readings) == doc.readings", `5, 9]`, `9, 5]`},
	{"len(set(doc.readings)) == 3 && unique(doc.readings).length == 3", `5, 9]`, `5, 5]`},
	{"any([doc.paid, false]) && all([doc.paid, true])", `"paid": true`, `"paid": false`},
	{"join(['a', doc.currency], '-') == 'a-EUR' && ', '.join([doc.currency]) == 'EUR'", `"EUR"`, `"USD"`},
	{"0 <= doc.vat <= 20", `"vat": 19`, `"vat": 21`},
	{"0 <= doc.vat < doc.net", `"vat": 19`, `"vat": 100`},
	{"SUM([l.price * l.quantity for l in doc.lines if l.id > 0]) == doc.net", `"net": 100`, `"net": 101`},
	{"sum(l.quantity for l in doc.lines) == 3", `"quantity": 1`, `"quantity": 3`},
	{"all(r >= 3 for r in doc.readings) and any(r == 9 for r in doc.readings if r > 5)", `[3,`, `[2,`},
	{"any(a.id == b for a in doc.lines for b in doc.readings if b < 4) == false", `"id": 2`, `"id": 3`},
	{"[a + b for a in [1, 2] for b in [doc.net, 10]] == [101, 11, 102, 12]", `"net": 100`, `"net": 101`},
	{"all(doc.readings[i] <= doc.readings[i+1] for i in range(len(doc.readings) - 1))", `[3,`, `[6,`},
	{"doc.lines.map(l => l.id).includes(2) && doc.lines.every((l) => l.price > 1)", `60.02`, `0.5`},
	{"doc.lines.every((l, i) => l.id === i + 1) && doc.lines.map((l, i) => l.id - i) == [1, 1]", `"id": 2`, `"id": 3`},
	{"doc.lines.some(l => l.price > 60) && doc.lines.find(l => l.id == 2).price == 60.02", `60.02`, `60.5`},
	{"doc.lines.filter(l => l.quantity > 1).length == 1", `"quantity": 1`, `"quantity": 3`},
	{"doc.readings.slice(1).every((v, i) => v >= doc.readings[i])", `[3,`, `[7,`},
	{"IF(doc.paid, doc.net, 0) == 100", `"net": 100`, `"net": 101`},
}

func TestRulesHoldInTheWordsOfOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, tt := range spelled {
		t.Run(tt.assert, func(t *testing.T) {
			t.Parallel()
			rule := compile(t, "rules", assertion(t, tt.assert))
			same(t, []brief{}, briefs(run(t, rule, []byte(bill), "application/json")))
			changed := strings.Replace(bill, tt.old, tt.changed, 1)
			found := briefs(run(t, rule, []byte(changed), "application/json"))
			if len(found) != 1 || !strings.Contains(fmt.Sprint(found), "does not hold") {
				t.Errorf("after the change: %v", found)
			}
		})
	}
}

func TestRulesHoldAsPeopleWriteThemFirst(t *testing.T) {
	t.Parallel()
	for _, assert := range firstTries {
		t.Run(assert, func(t *testing.T) {
			t.Parallel()
			report := run(t, compile(t, "rules", assertion(t, assert)), []byte(bill), "application/json")
			same(t, []brief{}, briefs(report))
		})
	}
}

// TestComparisonsShowBothSides has the ends of the messages of rules without a message.
func TestComparisonsShowBothSides(t *testing.T) {
	t.Parallel()
	const fails, misfit = "the rule r does not hold",
		"not evaluated: it does not fit the types of the values, or a value is missing"
	for assert, want := range map[string]string{
		"doc.total == 191":                            fails + ": 119 is not 191",
		"doc.a + doc.b == doc.c":                      fails + ": 0.30000000000000004 is not 0.3",
		"doc.a + doc.b > 5":                           fails + ": 0.3 is not more than 5",
		"doc.readings == [3, 5, 6, 9]":                fails + ": element 2, 5 is not 6",
		"doc.currency != 'EUR'":                       fails + `: "EUR" equals "EUR"`,
		"doc.total < doc.net":                         fails + ": 119 is not less than 100",
		"size(doc.lines) <= 1":                        fails + ": 2 is more than 1",
		"doc.paid && doc.net > 1 && doc.vat > 20":     fails + ": 19 is not more than 20",
		"doc.lines[1].price >= sum(doc.readings) * 3": fails + ": 60.02 is less than 66",
		"doc.currency in ['USD', 'CHF']":              fails + `: "EUR" is not in a list of 2 elements`,
		"near(doc.net, doc.total, 0.01)":              fails + ": 100 is not near 119",
		"doc.currency == null":                        fails + `: "EUR" is not null`,
		"doc.lines == doc.lines[0]":                   fails + ": a list of 2 elements is not an object",
		"doc.number + 'x'.replace('x', '" + long60 + "') == 'x'": fails + `: "R-2026-0042` +
			long60[:49] + `…" is not "x"`,
		"timestamp(doc.due) < timestamp(doc.issued)": fails + ": 2026-03-31T00:00:00Z is not less than " +
			"2026-03-01T00:00:00Z",
		"doc.paid ? doc.net == 5 : true":  fails,
		"doc.readings.all(r, r > 3)":      fails,
		"doc.net == 5 || doc.vat == 5":    fails,
		"doc.total / size(doc.none) == 1": "not evaluated: division by zero",
		"doc.total % size(doc.none) == 1": "not evaluated: modulus by zero",
		"doc.net % (doc.a - 0.1) == 1":    "not evaluated: modulus by zero",
		"lists.range(doc.c).size() == 0":  "not evaluated: 0.3 is not a whole number; int(x) leaves out its decimals",
		"doc.number > timestamp('2026-03-30')": `not evaluated: "R-2026-0042" is neither a date nor a date-time such ` +
			"as 2026-03-01T06:00:00Z",
		"doc.issued - doc.number > duration('1d')": `not evaluated: "R-2026-0042" is neither a date nor a date-time ` +
			"such as 2026-03-01T06:00:00Z",
		"doc.issued + doc.net > doc.due": misfit,
		"doc.issued / doc.net > 1":       misfit,
		"doc.lines.all(l, i, l.id > i)": "not evaluated: no such key: id; ask whether it is there with has(x.name)" +
			"; of two names the first is the index: list.all(l, i, ...)",
		"sum(doc.lines.price) > 1": "not evaluated: needs /lines/price, which is missing; of a list write " +
			"doc.lines.map(i, i.price)",
		"doc.lines.exists(l, l.name == 'x')": "not evaluated: no such key: name; ask whether it is there with " +
			"has(x.name)",
		"doc.readings[0.5] == 3": "not evaluated: unsupported index value 0.5 in list",
		"duration(doc.number) == duration('1h')": `not evaluated: "R-2026-0042" is not a duration such as ` +
			"90m, 1h30m or 30d",
	} {
		t.Run(assert, func(t *testing.T) {
			t.Parallel()
			report := run(t, compile(t, "rules", assertion(t, assert)), []byte(bill), "application/json")
			same(t, []brief{{"rule.r", "", 1, 1, 0, want}}, briefs(report))
		})
	}
}

const long60 = "0123456789012345678901234567890123456789012345678901234567890"
