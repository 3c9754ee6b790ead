//go:build slow

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/jobs"
)

// How long another organization may wait beside a flood. The time is relative to that of the same minute without the
// flood, and never below what a busy machine takes by itself.
const (
	mostSlowdown = 40
	leastAllowed = 2 * time.Second
	fewestProbes = 12
	senders      = 16
	// mostResident is what a server holds in memory at most, in KiB.
	mostResident = 1200 << 10
)

// flood is what one organization sends, while another one goes on.
type flood struct {
	definition string
	mediaType  string
	document   []byte
	documents  int
	// waits says that the other organization waits for its results, instead of asking for them later.
	waits bool
	// queued says that all runs go through the queue. Otherwise the process executes as many as it has places for.
	queued bool
}

func TestFloodsOfOneOrganization(t *testing.T) { //nolint:paralleltest // They measure the machine.
	for name, f := range map[string]flood{ //nolint:paralleltest // They measure the machine.
		"YAML": {
			definition: step("json_schema", `{"schema":{"additionalProperties":false}}`, "application/yaml"),
			mediaType:  "application/yaml", document: manyNames(), documents: 14, waits: true,
		},
		"XMLAttributes": {
			definition: step("xml", xmlConfig(`<xs:element name="a" type="xs:string"/>`), "application/xml"),
			mediaType:  "application/xml", document: manyAttributes(), documents: 40, queued: true,
		},
		"XMLPatterns": {
			definition: step("xml", xmlConfig(`<xs:element name="a"><xs:simpleType><xs:restriction base="xs:string">`+
				`<xs:pattern value="(a|a|aa|(a*)*)*b"/></xs:restriction></xs:simpleType></xs:element>`),
				"application/xml"),
			mediaType: "application/xml", documents: 12,
			document: []byte("<a>" + strings.Repeat("a", 200_000) + "</a>"),
		},
		"OrdinaryRuns": {
			definition: step("json_schema", `{"schema":{"type":"object"}}`, "application/json"),
			mediaType:  "application/json", document: []byte(`{"a":1}`), documents: 10_000, queued: true,
		},
	} {
		t.Run(name, func(t *testing.T) { f.run(t) })
	}
}

func (f flood) run(t *testing.T) {
	t.Helper()
	settings := []string{"SV_RUN_LEASE=30s", "SV_RUN_SWEEP_AFTER=1m", "SV_RUNS_PER_MINUTE=0"}
	if f.queued {
		settings = append(settings, "SV_LOCAL_RUNS=0")
	}
	i := program.Install(t, settings...)
	s := program.Serve(t, i.Settings)
	sender, other := i.Enroll(t, s.URL(), "sender"), i.Enroll(t, s.URL(), "other")
	program.NewClient(t, sender.Tokens.Owner).Create(t, s.URL()+"/api/workflows/", f.definition)
	idle := f.probe(t, s.URL(), other, func() bool { return false })
	f.send(t, i, s.URL(), sender)
	// Otherwise the runs of the other organization would have nothing to stand beside.
	if left := waiting(t, i, sender); left < f.documents/2 {
		t.Errorf("%d of %d runs are left when the flood has arrived, want half of them", left, f.documents)
	}
	busy := f.probe(t, s.URL(), other, func() bool { return waiting(t, i, sender) > 0 })
	resident := peakOf(t, s.PID())
	t.Logf("another organization's run took %s idle (median); beside the flood %s (median), %s at most, in %d runs; "+
		"%d MiB resident", median(idle), median(busy), slices.Max(busy), len(busy), resident>>10)
	if allowed := max(leastAllowed, mostSlowdown*median(idle)); slices.Max(busy) > allowed {
		t.Errorf("a run took %s beside the flood, want at most %s", slices.Max(busy), allowed)
	}
	if resident > mostResident {
		t.Errorf("%d KiB were resident, want at most %d", resident, mostResident)
	}
}

// probe starts runs of the other organization one after the other as long as the flood lasts, and returns how long each
// took to its result.
func (f flood) probe(tb testing.TB, base string, org program.Tenant, lasts func() bool) []time.Duration {
	tb.Helper()
	c := program.NewClient(tb, org.Tokens.Owner)
	o := program.Order{Workflow: "building", MediaType: "application/json", Body: []byte(`{}`)}
	var took []time.Duration
	for len(took) < fewestProbes || lasts() {
		began := time.Now()
		prefer := ""
		if f.waits {
			prefer = "wait=60"
		}
		run := start(tb, c, base, o, prefer)
		program.Await(tb, "the other organization's run ends", func() bool {
			return run.State == "COMPLETED" || read(tb, c.Get(tb, base+"/api/runs/"+run.ID+"/")).State == "COMPLETED"
		})
		took = append(took, time.Since(began))
	}
	return took
}

// send starts the runs of the flood, and lets none of them into the queue before all are staged.
func (f flood) send(tb testing.TB, i *program.Installation, base string, org program.Tenant) {
	tb.Helper()
	conn, err := i.DB.Pool.Acquire(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(tb.Context(), `SELECT pg_advisory_lock($1)`, jobs.EnqueueLock); err != nil {
		tb.Fatal(err)
	}
	c := program.NewClient(tb, org.Tokens.Owner)
	o := program.Order{Workflow: "flooded", MediaType: f.mediaType, Body: f.document}
	var group sync.WaitGroup
	for n := range senders {
		group.Go(func() {
			for range (f.documents + senders - 1 - n) / senders {
				start(tb, c, base, o, "")
			}
		})
	}
	group.Wait()
	if _, err := conn.Exec(tb.Context(), `SELECT pg_advisory_unlock($1)`, jobs.EnqueueLock); err != nil {
		tb.Fatal(err)
	}
}

type startedRun struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

func start(tb testing.TB, c *program.Client, base string, o program.Order, prefer string) startedRun {
	tb.Helper()
	request, err := o.Request(tb.Context(), base)
	if err != nil {
		tb.Fatal(err)
	}
	if prefer != "" {
		request.Header.Set("Prefer", prefer)
	}
	answer, err := c.Do(request)
	if err != nil {
		tb.Fatalf("start: %v", err)
	}
	return read(tb, answer)
}

func read(tb testing.TB, answer program.Answer) startedRun {
	tb.Helper()
	if answer.Status >= http.StatusBadRequest {
		tb.Fatalf("answer = %d %s, want a run", answer.Status, answer.Body)
	}
	var run startedRun
	if err := json.Unmarshal(answer.Body, &run); err != nil {
		tb.Fatalf("read %s: %v", answer.Body, err)
	}
	return run
}

// waiting counts the runs of an organization that have not ended.
func waiting(tb testing.TB, i *program.Installation, org program.Tenant) int {
	tb.Helper()
	var count int
	err := i.DB.Pool.QueryRow(context.WithoutCancel(tb.Context()),
		`SELECT count(*) FROM validation_runs WHERE org_id = $1 AND state <> 'COMPLETED'`, org.ID).Scan(&count)
	if err != nil {
		tb.Fatal(err)
	}
	return count
}

// peakOf returns the most memory that a process has held, in KiB.
func peakOf(tb testing.TB, pid int) int {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kibibytes int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kibibytes); n == 1 {
			return kibibytes
		}
	}
	tb.Fatal("the kernel does not say how much memory the process has held")
	return 0
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

func step(kind, config, accepts string) string {
	return fmt.Sprintf(`{"slug":"flooded","name":"Flooded","is_active":true,"definition":{"accepts":[%q],`+
		`"steps":[{"id":"check","name":"Check","type":%q,"config":%s}]}}`, accepts, kind, config)
}

func xmlConfig(element string) string {
	config, err := json.Marshal(map[string]string{
		"schema": `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">` + element + `</xs:schema>`,
	})
	if err != nil {
		panic(err)
	}
	return string(config)
}

// manyNames is a YAML document of 3.8 MB with a value for each 8 bytes of it.
func manyNames() []byte {
	var text bytes.Buffer
	text.WriteString("{a0")
	for i := 1; i < 490_000; i++ {
		fmt.Fprintf(&text, ",a%d", i)
	}
	text.WriteString("}")
	return text.Bytes()
}

// manyAttributes is an XML document of 649 kB with one element.
func manyAttributes() []byte {
	var text bytes.Buffer
	text.WriteString("<a")
	for i := range 60_000 {
		fmt.Fprintf(&text, ` a%d="x"`, i)
	}
	text.WriteString("/>")
	return text.Bytes()
}
