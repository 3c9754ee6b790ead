package rules_test

import (
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
	{"set(doc.readings) == {9, 5, 3} and {1, 2} == {2, 1}", `5, 9]`, `5, 8]`},
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

// record is the document of found.
const record = `{
	"start_date": "2026-03-01", "end_date": "2026-03-31", "hire_date": "2020-01-01", "payment_day": 15, "amount": 20,
	"employment_type": "permanent", "cnpj": "12345678000195", "leave_time": "2026-03-01T10:00:00Z",
	"join_time": "2026-03-01T09:00:00Z", "late_count": 3, "transaction_count": 90, "order_date": "2026-03-01",
	"revenue": 100, "tax": 19, "total": 119, "cost": 80, "discount_pct": 10, "target_count": 98, "source_count": 100,
	"time": "09:30", "failed": false, "affiliation": "R", "engine": "PostgreSQL", "postgresql": {}, "ips": ["a", "b"],
	"replicas": 2, "size": 3, "max_size": 4, "ha": false, "password": "Secret-1234", "confirm": "Secret-1234",
	"tags": ["x", "y"], "hashes": {"a": 1, "b": 2, "c": 3}, "retail": [], "correct": 3, "presented": 4,
	"items": [{"id": 1, "checked": true, "quantity": 2, "selected": true, "price": 5, "debit": 7, "credit": 3},
		{"id": 2, "checked": true, "price": 3, "selected": false, "quantity": 1, "debit": 3, "credit": 7,
			"returned": 1}],
	"email": "ada@example.com", "phone": "0301234567", "au_id": "172-32-1176", "pub_id": "9912", "code": "A123",
	"keys": [{"type": "r"}, {"type": "r"}]
}`

// found are the first 48 rules on data that a search of public repositories and pages found for: CHECK constraints,
// tests of dbt, queries of pandas, validations of Kubernetes, refinements of zod, validators in Python, and custom
// validations of spreadsheets. Only the names of what they read are those of the record. Each holds for it and does not
// after a change, or is refused or not evaluated with what to write instead.
var found = []struct{ assert, old, changed, refused string }{
	{"doc.end_date >= doc.start_date", `"2026-03-31"`, `"2026-02-01"`, ""},
	{"doc.end_date is null or doc.end_date >= doc.hire_date", `"2026-03-31"`, `"2010-02-01"`, ""},
	{"doc.payment_day >= 1 AND doc.payment_day <= 31", `"payment_day": 15`, `"payment_day": 32`, ""},
	{"doc.end_date IS NULL OR doc.start_date <= doc.end_date", `"2026-03-31"`, `"2026-02-01"`, ""},
	{"doc.amount > 0", `"amount": 20`, `"amount": 0`, ""},
	{"doc.employment_type in ('permanent','fixed_term','part_time')", `"permanent"`, `"none"`, ""},
	{"length(doc.cnpj) = 14", `12345678000195`, `1`, ""},
	{"doc.amount >= 0", `"amount": 20`, `"amount": -1`, ""},
	{"doc.leave_time >= doc.join_time", `T10:`, `T08:`, ""},
	{"doc.late_count <= doc.transaction_count", `"late_count": 3`, `"late_count": 91`, ""},
	{
		"doc.order_date <= CURRENT_TIMESTAMP", "", "",
		"column 19: undeclared reference to 'CURRENT_TIMESTAMP'; a rule has no clock; write " +
			"timestamp('2026-03-01T06:00:00Z')",
	},
	{"doc.revenue >= doc.cost", `"cost": 80`, `"cost": 800`, ""},
	{"doc.revenue + doc.tax = doc.total", `"total": 119`, `"total": 191`, ""},
	{"doc.discount_pct >= 0 and doc.discount_pct <= 100", `"discount_pct": 10`, `"discount_pct": 101`, ""},
	{"abs(doc.target_count - doc.source_count) / doc.source_count < 0.05", `98`, `90`, ""},
	{"doc.time >= '09:00' and doc.time <= '17:00'", `09:30`, `08:30`, ""},
	{"doc.failed == False", `"failed": false`, `"failed": true`, ""},
	{"doc.affiliation == 'R'", `"R"`, `"D"`, ""},
	{"doc.engine == 'PostgreSQL' && has(doc.postgresql)", `"PostgreSQL"`, `"MySQL"`, ""},
	{"!has(doc.ips) || size(doc.ips) == 0 || size(doc.ips) >= doc.replicas", `"replicas": 2`, `"replicas": 3`, ""},
	{"doc.size <= doc.max_size", `"size": 3`, `"size": 5`, ""},
	{"!doc.ha || doc.size != 3", `"ha": false`, `"ha": true`, ""},
	{"doc.join_time < doc.leave_time", `T10:`, `T08:`, ""},
	{"doc.password === doc.confirm", `"confirm": "S`, `"confirm": "T`, ""},
	{"new Set(doc.tags).size === doc.tags.length", `["x", "y"]`, `["x", "x"]`, ""},
	{"doc.tags.length > 0", `["x", "y"]`, `[]`, ""},
	{"doc.items.every((item) => item.checked)", `"checked": true`, `"checked": false`, ""},
	{"Object.keys(doc.hashes).length >= 3", `, "c": 3`, ``, ""},
	{"new Set(doc.items.map((item) => item.id)).size === doc.items.length", `"id": 2`, `"id": 1`, ""},
	{"doc.items.length > 0 || doc.retail.length > 0", `"items": [`, `"items": [], "x": [`, ""},
	{
		"doc.items.every(item => item.id || item.key)", "", "",
		"not evaluated: it does not fit the types of the values, or a value is missing; &&, || and ! are for what " +
			"is true or false, such as has(x.y) and x.y != ''",
	},
	{"doc.items.some(item => (item.returned || 0) > 0)", `"returned": 1`, `"returned": 0`, ""},
	{"doc.items.some(item => item.quantity > 1)", `"quantity": 2`, `"quantity": 1`, ""},
	{"doc.items.some(item => item.selected && item.quantity > 0)", `"selected": true`, `"selected": false`, ""},
	{"doc.correct <= doc.presented", `"correct": 3`, `"correct": 5`, ""},
	{"doc.revenue + doc.tax === doc.total", `"total": 119`, `"total": 191`, ""},
	{"doc.items.reduce((sum, item) => sum + item.price * 2 * item.quantity, 0) == 26", `"price": 5`, `"price": 6`, ""},
	{
		"doc.email like '%@%.%' and doc.email not like '@%' and doc.email not like '%.'",
		`"ada@example.com"`, `"ada@example.com."`, "",
	},
	{"LEN(doc.phone) BETWEEN 7 AND 15", `"0301234567"`, `"030123"`, ""},
	{"length(doc.phone) >= 9", `"0301234567"`, `"030123"`, ""},
	{"doc.phone REGEXP '^[0-9]{10,15}$'", `"0301234567"`, `"030-1234567"`, ""},
	{"doc.email LIKE '%_@_%._%'", `"ada@example.com"`, `"@example.com"`, ""},
	{"doc.au_id LIKE '[0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][0-9][0-9]'", `172-32`, `17-232`, ""},
	{"doc.pub_id IN ('1389', '0736') OR doc.pub_id LIKE '99[0-9][0-9]'", `"9912"`, `"9812"`, ""},
	{`re.search("[A-Z]", doc.password)`, `"password": "S`, `"password": "s`, ""},
	{`all(key["type"] == "r" for key in doc.keys)`, `{"type": "r"}]`, `{"type": "a"}]`, ""},
	{
		`sum(line["debit"] for line in doc.items) == sum(line["credit"] for line in doc.items)`, `"debit": 7`,
		`"debit": 8`, "",
	},
	{
		`=AND(LEN(doc.code)=4,LEFT(doc.code,1)>="A",LEFT(doc.code,1)<="Z",ISNUMBER(--RIGHT(doc.code,3)))`, "", "",
		"column 74: undeclared reference to 'ISNUMBER'; write type(x) == double, or x.matches('^[0-9]+$') of a text",
	},
}

func TestRulesHoldInTheWordsOfOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, tt := range spelled {
		t.Run(tt.assert, func(t *testing.T) {
			t.Parallel()
			holds(t, tt.assert, bill, tt.old, tt.changed)
		})
	}
	worked := 0
	for _, tt := range found {
		if tt.refused == "" {
			worked++
		}
		t.Run(tt.assert, func(t *testing.T) {
			t.Parallel()
			switch {
			case tt.refused == "":
				holds(t, tt.assert, record, tt.old, tt.changed)
			case strings.HasPrefix(tt.refused, "column"):
				same(t, tt.refused, refused(t, "rules", assertion(t, tt.assert)).Detail)
			default:
				report := run(t, compile(t, "rules", assertion(t, tt.assert)), []byte(record), "application/json")
				same(t, []brief{{"rule.r", "", 1, 1, 0, tt.refused}}, briefs(report))
			}
		})
	}
	if worked < 45 {
		t.Errorf("%d of %d rules work", worked, len(found))
	}
}

// holds says that a rule holds for a document, and does not after a change.
func holds(t *testing.T, assert, document, old, changed string) {
	t.Helper()
	rule := compile(t, "rules", assertion(t, assert))
	same(t, []brief{}, briefs(run(t, rule, []byte(document), "application/json")))
	wrong := strings.Replace(document, old, changed, 1)
	findings := briefs(run(t, rule, []byte(wrong), "application/json"))
	if len(findings) != 1 || wrong == document {
		t.Errorf("after the change: %v", findings)
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
		"doc.a + doc.b > 5":                           fails + ": 0.30000000000000004 is not more than 5",
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
