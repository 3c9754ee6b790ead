package config_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/docs"
)

// statedLimit is a constant of the code, or a member of a literal, with the sentence of a guide that states its value.
type statedLimit struct {
	file, name, value string
	page, text        string
}

// A number in a guide must change with the constant that it states. A row fails when the constant has another value,
// and when the guide does not say what the row says.
func TestGuidesStateTheLimits(t *testing.T) {
	t.Parallel()
	rows := slices.Concat(
		limitsOfStarts(), limitsOfExecution(), limitsOfEngines(), limitsOfUsers(), limitsOfServers(), limitsOfPages(),
	)
	for _, row := range rows {
		if values := valuesOf(t, row.file, row.name); !slices.Contains(values, row.value) {
			t.Errorf("%s has %s = %q, want %s: change this row and guide %s, which says %q",
				row.file, row.name, values, row.value, row.page, row.text)
		}
		page, ok := docs.Page("guides/" + row.page)
		if !ok {
			t.Errorf("there is no guide %s", row.page)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), row.text) {
			t.Errorf("guide %s does not say %q, which states %s = %s of %s",
				row.page, row.text, row.name, row.value, row.file)
		}
	}
}

func limitsOfStarts() []statedLimit {
	const file = "workflows/start/batch.go"
	return []statedLimit{
		{file, "maxBatchSize", "256", "architecture", "256 at most, and 8 MiB of documents"},
		{file, "maxBatchBytes", "8 << 20", "architecture", "256 at most, and 8 MiB of documents"},
		{file, "overlapSize", "6", "architecture", "When six wait, or 8 MiB"},
		{file, "overlapSize", "6", "performance", "when six starts or 8 MiB of them wait"},
		{file, "overlapAfter", "50 * time.Millisecond", "architecture", "takes longer than 50 ms"},
		{file, "batchesWaiting", "4", "architecture", "When 1,024 starts or 32 MiB of documents are waiting"},
		{"core/db/loader.go", "maxLoads", "64", "performance", "Look-ups follow the same rule with a limit of 64."},
		{"workflows/version_cache.go", "maxCachedVersions", "10_000", "architecture", "up to 10,000 tokens and 10,000"},
		{"users/token_cache.go", "maxCachedTokens", "10_000", "architecture", "up to 10,000 tokens and 10,000"},
		{"validations/intake.go", "MaxInlineBytes", "256 << 10", "architecture", "in chunks of 256 KiB"},
		{"workflows/start/prefer.go", "maxWait", "60 * time.Second", "idempotency", "after 20 seconds (60 at most)"},
		{
			"workflows/start/body/body.go", "maxStructuredBytes", "1 << 20",
			"idempotency", "a raw JSON document of up to 1 MiB",
		},
		{"core/idempotency/key.go", "MaxKeyLength", "255", "idempotency", "A key has 1 to 255 ASCII characters"},
		{"core/idempotency/purge.go", "pauseShare", "9", "performance", "pauses nine times as long"},
		{
			"core/idempotency/purge.go", "longestPause", "100 * time.Millisecond",
			"performance", "never longer than a tenth of a second",
		},
		{"core/idempotency/completer.go", "completeMaxBackOff", "10 * time.Minute", "quotas", "up to 10 minutes"},
		{"core/signature.go", "SignatureTolerance", "5 * time.Minute", "quotas", "by more than five minutes"},
		{"users/billing.go", "billingTimeout", "10 * time.Second", "quotas", "none within 10 seconds"},
	}
}

func limitsOfExecution() []statedLimit {
	const precedence = "validations/execution/precedence.go"
	return []statedLimit{
		{
			"validations/execution/batcher.go", "batchMembers", "64",
			"architecture", "up to 64 runs share one transaction",
		},
		{"validations/execution/limits.go", "enginesPerCPU", "2", "architecture", "two for each CPU"},
		{"validations/execution/limits.go", "enginesPerCPU", "2", "metrics", "two for each processor"},
		{"validations/execution/limits.go", "localEnginesPerCPU", "1", "scaling", "separate slots, one per CPU"},
		{precedence, "cpusPerTurn", "2", "architecture", "one turn for every two CPUs"},
		{precedence, "longestTurn", "20 * time.Millisecond", "architecture", "has taken 20 ms"},
		{precedence, "quietAfter", "20 * time.Millisecond", "architecture", "20 ms after the last start"},
		{
			"validations/execution/sql_lease.go", "retryPause", "2 * time.Second",
			"runs", "after two seconds at the earliest",
		},
		{"validations/external/retry.go", "maxAttempts", "8", "validators/http", "up to 8 attempts"},
		{"validations/execution/samples.go", "MaxSampleBytes", "256 << 10", "dashboard", "up to 256 KiB"},
		{
			"validations/execution/samples.go", "sampleTimeout", "5 * time.Second",
			"dashboard", "a check takes up to 5 seconds",
		},
		{"config/project.go", "samplesPerSecond", "0.5", "dashboard", "one every two seconds on average, 30 at once"},
		{"config/project.go", "samplesBurst", "30", "dashboard", "one every two seconds on average, 30 at once"},
		{"config/background.go", "PurgeBatch", "200", "performance", "A batch of 200 keys"},
		{"config/background.go", "activityInterval", "3 * time.Second", "idempotency", "written every three seconds"},
		{"config/background.go", "workerGraceShare", "2", "operators", "within half of `SV_SHUTDOWN_GRACE`"},
		{"tasks/pace.go", "aheadFor", "50 * time.Millisecond", "scaling", "finish within 50 ms"},
		{"tasks/enqueuer.go", "maxHandOvers", "10", "operators", "rejected the job ten times"},
		{
			"tasks/enqueuer.go", "holdLimit", "2 * time.Second",
			"configuration", "The enqueuer's transactions have 2 seconds",
		},
		{"tasks/heartbeat.go", "beatInterval", "12 * time.Second", "operators", "every twelve seconds"},
		{"tasks/heartbeat.go", "silentAfter", "40 * time.Second", "operators", "for more than 40 seconds"},
		{"tasks/loop.go", "lastPause", "30 * time.Second", "operators", "a back-off of up to half a minute"},
		{"tasks/loop.go", "runLimit", "time.Minute", "operators", "A pass times out after a minute"},
		{"tasks/sql_processes.go", "lateIntervals", "5", "operators", "five times its interval"},
		{"tasks/sql_processes.go", "lateAtLeast", "15 * time.Second", "operators", "for at least 15 seconds"},
		{"config/health/check.go", "MaxSkew", "5 * time.Second", "operators", "less than five seconds apart"},
	}
}

func limitsOfEngines() []statedLimit {
	const limits, weights = "validations/engines/engine/limits.go", "validations/engines/weight.go"
	const http, text = "validations/engines/http/http.go", "validators/http"
	return []statedLimit{
		{limits, "MaxFindings", "1000", "validators", "A step lists at most 1,000 findings"},
		{limits, "MaxPerCheck", "100", "validators", "fails repeatedly is listed 100 times"},
		{limits, "MaxTreeBytes", "16 * mebibyte", "validators", "More than 16 MiB (YAML: 4 MiB)"},
		{limits, "MaxYAMLBytes", "4 * mebibyte", "validators", "More than 16 MiB (YAML: 4 MiB)"},
		{limits, "MaxDepth", "200", "validators", "Nested deeper than 200 levels"},
		{limits, "MaxValues", "1_000_000", "validators", "or 1,000,000 values"},
		{limits, "MaxAttributes", "1000", "validators/xml", "more than 1,000 attributes of one element"},
		{limits, "MaxSchemaBytes", "mebibyte", "validators/json_schema", "at most 1 MiB and 10,000 sub-schemas"},
		{limits, "MaxSubSchemas", "10_000", "validators/json_schema", "at most 1 MiB and 10,000 sub-schemas"},
		{limits, "MaxSchemaWork", "100_000_000", "validators/json_schema", "100,000,000 evaluations of keywords"},
		{limits, "MaxPatternTime", "2 * time.Second", "validators/json_schema", "more than two seconds"},
		{limits, "MaxLintTime", "20 * time.Second", "validators/xml", "20 seconds of processor time and 1 GiB"},
		{limits, "MaxLintBytes", "1024 * mebibyte", "validators/xml", "20 seconds of processor time and 1 GiB"},
		{limits, "MaxXPathWork", "200_000_000", "validators/schematron", "visits at most 200,000,000 nodes"},
		{
			limits, "MaxTableBytes", "1024 * mebibyte",
			"validators/table", "at most 1 GiB, 5,000,000 rows, 1,000 columns",
		},
		{limits, "MaxRows", "5_000_000", "validators/table", "at most 1 GiB, 5,000,000 rows, 1,000 columns"},
		{limits, "MaxColumns", "1000", "validators/table", "at most 1 GiB, 5,000,000 rows, 1,000 columns"},
		{limits, "MaxRecordBytes", "mebibyte", "validators/table", "1 MiB in one row"},
		{limits, "MaxUniqueBytes", "24 * mebibyte", "validators/table", "which share 24 MiB"},
		{limits, "MaxSharedBytes", "64 * mebibyte", "validators/table", "kept in memory and may have 64 MiB"},
		{limits, "MaxRules", "100", "validators/rules", "at most 100 rules"},
		{limits, "MaxRuleChars", "2000", "validators/expressions", "at most 2,000 characters"},
		{limits, "MaxPatternChars", "2000", "validators/rules", "or a pattern has at most 2,000 characters"},
		{
			weights, "jsonWeight", "weight{perByte: 80, values: 256 * mebibyte}",
			"scaling", "| JSON | 80 bytes | 4 bytes and 256 MiB |",
		},
		{
			weights, "energyPlusWeight", "weight{perByte: 96, values: 448 * mebibyte}",
			"scaling", "| EnergyPlus | 96 bytes | 4 bytes and 448 MiB |",
		},
		{
			weights, "xmlWeight", "weight{perByte: 32, values: 512 * mebibyte}",
			"scaling", "process | 32 bytes | 4 bytes and 512 MiB |",
		},
		{
			weights, "schematronWeight", "weight{perByte: 96, values: 768 * mebibyte}",
			"scaling", "Schematron | 96 bytes | 4 bytes and 768 MiB |",
		},
		{
			"config/settings.go", "mostEngineMemory", "512 << 20",
			"scaling", "512 MiB, or a quarter of the container's memory",
		},
		{"config/settings.go", "engineMemoryShare", "4", "scaling", "512 MiB, or a quarter of the container's memory"},
		{"config/cmd/memory.go", "heapShare", "0.9", "scaling", "nine tenths of the container's memory"},
		{"config/cmd/memory.go", "sessionMemory", "8 << 20", "scaling", "its `work_mem` and 8 MiB"},
		{http, "defaultAttemptTimeout", "30 * time.Second", text, "| `attempt_timeout_seconds` | `30` |"},
		{http, "maxAttemptTimeout", "300", text, "Timeout of one attempt, 1 to 300"},
		{http, "maxParameterBytes", "64 << 10", text, "up to 64 KiB"},
		{http, "maxCallbackTimeout", "7 * 24 * 3600", text, "up to 7 days"},
		{"validations/engines/http/answer.go", "MaxAnswerBytes", "1 << 20", text, "An answer may have up to 1 MiB"},
	}
}

func limitsOfUsers() []statedLimit {
	const passwords, factors = "users/passwords.go", "users/second_factors.go"
	const links = "users/services_password_links.go"
	return []statedLimit{
		{passwords, "minPassword", "12", "security", "passwords have 12 characters at least"},
		{passwords, "maxPasswordBytes", "1 << 10", "security", "Passwords over 1 KiB are refused"},
		{passwords, "maxHashes", "2", "security", "Two passwords are hashed at once and 16 more wait"},
		{passwords, "maxWaitingHashes", "16", "security", "Two passwords are hashed at once and 16 more wait"},
		{factors, "stepSeconds", "30", "roles", "six digits, 30 seconds"},
		{factors, "freeFailures", "5", "roles", "After five wrong codes in a row"},
		{factors, "recoveryCodes", "10", "roles", "Ten recovery codes are shown once"},
		{links, "maxLinkLife", "72 * time.Hour", "roles", "an hour, a day or three days"},
		{links, "mailedLinkLife", "2 * time.Hour", "roles", "one that works for two hours"},
		{"users/openid.go", "proofAge", "10 * time.Minute", "roles", "in the last ten minutes"},
		{
			"users/sql_sessions.go", "sessionIdle", "`interval '12 hours'`",
			"security", "A session ends 12 hours after its last use",
		},
		{"users/sql_sessions.go", "sessionLife", "`interval '7 days'`", "security", "a week after it began"},
		{"users/tokens.go", "defaultOverlap", "24 * time.Hour", "roles", "after 24 hours if the request has no body"},
		{"config/project.go", "signInBurst", "20", "security", "Each allows 20 at once, then one every six seconds"},
		{
			"config/project.go", "signInsPerSecond", "1.0 / 6",
			"security", "Each allows 20 at once, then one every six seconds",
		},
		{
			"validations/sql_counts.go", "MaxCountedRuns", "100_000",
			"quotas", "only the newest 100,000 runs are counted",
		},
	}
}

func limitsOfServers() []statedLimit {
	const drain, streams = "config/edge/drain.go", "validations/web/streams.go"
	return []statedLimit{
		{drain, "drainTotal", "30 * time.Second", "security", "for at most 30 seconds"},
		{drain, "drainMargin", "6 << 20", "security", "up to 6 MiB above the limit"},
		{drain, "drainsAtOnce", "256", "security", "for 256 requests of a process at once"},
		{
			"config/edge/writes.go", "writePiece", "16 << 10",
			"configuration", "A client that takes 16 KiB in that time",
		},
		{streams, "writeTimeout", "10 * time.Second", "configuration", "Streams of events have 10 seconds"},
		{streams, "streamsPerHolder", "8", "runs", "a token may have 8 streams open"},
		{streams, "heartbeatInterval", "15 * time.Second", "runs", "every 15 seconds"},
		{streams, "maxStreamAge", "5 * time.Minute", "runs", "a stream lasts five minutes at most"},
		{"validations/web/runs.go", "maxWait", "time.Minute", "runs", "after a minute at the latest"},
		{
			"core/db/database.go", "tcpUserTimeout", "20 * time.Second",
			"configuration", "acknowledges nothing for 20 seconds",
		},
		{
			"core/db/database.go", "graceForServer", "2 * time.Second",
			"configuration", "two seconds after that",
		},
		{"core/db/database.go", "connectTimeout", "5 * time.Second", "scaling", "gives up after 5 seconds"},
		{
			"workflows/start/sql_lock_timeout.go", "shortLockTimeout", `"SET LOCAL lock_timeout = '200ms'"`,
			"configuration", "for 200 ms",
		},
		{"config/cmd/memory.go", "mostHeadroom", "64 << 20", "performance", "A reserve of 64 MiB"},
		{"config/metrics.go", "gaugesInterval", "10 * time.Second", "metrics", "are read every 10 seconds"},
		{"config/archive/sql_delete.go", "remnantPeriod", "7 * 24 * time.Hour", "operators", "for a week"},
		{"config/cmd/keys.go", "keyListLimit", "1000", "idempotency", "`list` ends after 1000 keys"},
	}
}

func limitsOfPages() []statedLimit {
	const document, github = "validations/web/page_document.go", "validations/formats/github.go"
	return []statedLimit{
		{document, "windowLines", "100", "dashboard", "A window has 100 lines or 40 rows"},
		{document, "windowRows", "40", "dashboard", "A window has 100 lines or 40 rows"},
		{document, "windowHead", "240", "dashboard", "more than 240 characters"},
		{"validations/web/document.go", "maxShownBytes", "64 << 20", "dashboard", "documents of more than 64 MiB"},
		{"validations/sql_compare.go", "comparedRuns", "500", "dashboard", "among the 500 runs before it"},
		{"validations/list.go", "MaxScanned", "20_000", "dashboard", "scan 20,000 runs or keys at a time"},
		{
			"core/idempotency/admin/inspector.go", "MaxScanned", "20_000",
			"dashboard", "scan 20,000 runs or keys at a time",
		},
		{
			"core/pages/export.go", "exportedRows", "50_000",
			"dashboard", "the newest 50,000 runs at most",
		},
		{"validations/sql_overview.go", "OverviewRuns", "10_000", "dashboard", "The newest 10,000 runs of that time"},
		{"validations/sql_search.go", "searchedRuns", "10_000", "dashboard", "searched among the newest 10,000 runs"},
		{
			"core/idempotency/admin/purge.go", "hoursKept", "8 * 24 * time.Hour",
			"dashboard", "hours are kept for 8 days",
		},
		{"core/idempotency/admin/sql_inspector.go", "activityDays", "30", "idempotency", "each of the last 30 days"},
		{"core/requestlog/sql_purge.go", "MaxKept", "1_000_000", "dashboard", "the newest million are kept"},
		{
			"core/requestlog/log.go", "orgShare", "3",
			"dashboard", "at most three quarters of that are of one organization",
		},
		{"core/requestlog/log.go", "replayShare", "2", "dashboard", "at most half are replays of one"},
		{"validations/run_body.go", "maxInlineIssues", "100", "v1", "The first 100 findings"},
		{"validations/formats/output.go", "defaultFindings", "50", "pipelines", "`text` shows 50 findings"},
		{"validations/formats/sarif.go", "maxSARIFResults", "5000", "pipelines", "`sarif` holds 5,000 results"},
		{github, "maxAnnotations", "10", "pipelines", "10 errors and 10 warnings"},
		{github, "maxSummary", "1 << 20", "pipelines", "its summary ends at 1 MiB"},
		{"workflows/check_progress.go", "largeDocument", "8 << 20", "pipelines", "Documents from 8 MiB on"},
	}
}

// valuesOf returns the values of the constants and variables of the name, and of the members of literals, as they are
// written in the file.
func valuesOf(tb testing.TB, file, name string) []string {
	tb.Helper()
	source, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
	if err != nil {
		tb.Fatal(err)
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		tb.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ValueSpec:
			for i, ident := range n.Names {
				if ident.Name == name && i < len(n.Values) {
					values = append(values, written(tb, files, n.Values[i]))
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == name {
				values = append(values, written(tb, files, n.Value))
			}
		}
		return true
	})
	return values
}

// written is an expression as it is written, in one line.
func written(tb testing.TB, files *token.FileSet, expression ast.Expr) string {
	tb.Helper()
	var text bytes.Buffer
	if err := format.Node(&text, files, expression); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// A guide that names a test, a file or a folder of the source names one that is there.
func TestGuidesNameWhatIsThere(t *testing.T) {
	t.Parallel()
	names, err := docs.Pages()
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n```.*?\n```")
	test := regexp.MustCompile("`(Test[A-Z][A-Za-z]+)`")
	path := regexp.MustCompile("`((?:config|core|docs|migrations|tasks|users|validations|workflows)/[a-z0-9_./-]+)`")
	for _, name := range names {
		page, _ := docs.Page(name)
		text := block.ReplaceAllString(string(page), "")
		for _, match := range test.FindAllStringSubmatch(text, -1) {
			if !isDeclared(t, match[1]) {
				t.Errorf("page %s names %s, which no test file declares", name, match[1])
			}
		}
		for _, match := range path.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(match[1]))); err != nil {
				t.Errorf("page %s names %s: %v", name, match[1], err)
			}
		}
	}
}
