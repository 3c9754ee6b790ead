package config_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/docs"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	s, charging := fixture.SetupBilled(t)
	used := s.Start(t, "repeated-1")
	s.Must(t, http.StatusCreated, used)
	s.Work(t)
	s.Must(t, http.StatusCreated, used)
	s.Refused(t, api.CodeKeyReused, used.With("X-Filename", "another.csv"))
	s.Refused(t, api.CodeKeyInvalid, used.With("Idempotency-Key", ""))
	charging.Script(outside.FailBefore)
	s.Refused(t, api.CodeUnavailable, used.With("Idempotency-Key", "stuck"))
	s.Must(t, http.StatusCreated, used.With("Idempotency-Key", "stuck"))
	s.Refused(t, api.CodeNotFound, call{Path: "/nothing/at-all/"})
	s.Must(t, http.StatusOK, s.Cancel(s.Started(t, s.Start(t, "canceled")).ID))
	s.Exec(t, `INSERT INTO staged_jobs (kind, org_id, subject_id, epoch, attempts) VALUES ('x', $1, $1, 1, 10)`,
		s.Harbour.ID)

	s.Started(t, s.Start(t, "pending"))
	s.Exec(t, `INSERT INTO service_processes (id, host, pid, version, parts, started_at, seen_at) VALUES
		($1, 'worker-1', 1, '1.2.3', '{worker}', now() - interval '1 hour', now()),
		($2, 'worker-2', 2, '1.2.3', '{worker}', now(), now() - $3::interval)`,
		s.Harbour.ID, s.Tiny.ID, time.Minute)
	s.Exec(t, `INSERT INTO service_loops (process_id, name, every, ended_at, done, total, failures, last_error)
		VALUES ($1, 'sweeper', '5s', now(), 0, 0, 0, '')`, s.Harbour.ID)

	measured, handler, err := s.Project.Measured(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scrape := httptest.NewRecorder()
	handler.ServeHTTP(scrape, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for _, want := range []string{
		`sv_build_info{go_version="go1.`, `role="all",version="1.2.3"} 1`,
		`sv_idempotency_requests_total{outcome="mismatch"} 1`,
		`sv_idempotency_requests_total{outcome="invalid"} 1`,
		`sv_idempotency_requests_total{outcome="replayed"} 1`,
		`sv_idempotency_requests_total{outcome="resumed"} 1`,
		`sv_idempotency_requests_total{outcome="refused"} 1`,
		`sv_idempotency_requests_total{outcome="new"} 3`,
		`sv_idempotency_takeovers_total{by="retry"} 1`,
		`sv_idempotency_phase_duration_seconds_count{phase="run_reserved"}`,
		`sv_idempotency_keys{state="dead"} 0`,
		`sv_runs_total{result="PASS"} 1`, `sv_runs_total{result="CANCELED"} 1`, `sv_run_queue_wait_seconds_count 1`,
		`sv_start_group_size_count`, `sv_start_queue 0`,
		`sv_jobs_dead{place="outbox"} 1`, `sv_jobs_dead{place="queue"} 0`, `sv_figures_up{source="database"} 1`,
		`sv_db_pool_connections{state="idle"}`,
		`sv_runs_pending 2`, `sv_runs_oldest_pending_age_seconds `, `sv_runs_executing 0`,
		`sv_processes{role="worker",state="silent"} 1`, `sv_processes{role="web",state="alive"} 0`,
		`sv_loop_last_success_age_seconds{loop="sweeper"} `,
		`sv_engine_places_taken 0`, `sv_engine_memory_bytes `, `sv_local_places 0`, `sv_local_places_taken 0`,
		`sv_http_request_duration_seconds_count{code="201",method="POST",route="/api/workflows/:id/start/"}`,
	} {
		if !strings.Contains(scrape.Body.String(), want) {
			t.Errorf("scrape has no %s", want)
		}
	}
	for _, never := range []string{s.Harbour.ID.String(), s.Harbour.Slug, "repeated-1", "at-all/"} {
		if strings.Contains(scrape.Body.String(), never+`"`) {
			t.Errorf("scrape has %s, want no label that clients choose", never)
		}
	}
	if problems, err := testutil.GatherAndLint(measured.Registry()); err != nil || len(problems) > 0 {
		t.Errorf("lint = %v, %v, want nothing", problems, err)
	}

	t.Run("AreNotPublic", func(t *testing.T) {
		t.Parallel()
		s.Refused(t, api.CodeNotFound, call{Path: "/metrics"})
	})
	t.Run("AreListed", func(t *testing.T) {
		t.Parallel()
		page, ok := docs.Page("guides/metrics")
		if !ok {
			t.Fatal("there is no page")
		}
		var listed []string
		for _, match := range regexp.MustCompile("(?m)^\\| `(sv_[a-z_]+)` \\|").FindAllSubmatch(page, -1) {
			listed = append(listed, string(match[1]))
		}
		slices.Sort(listed)
		want := slices.DeleteFunc(metricNames(t, measured.Registry()), func(name string) bool {
			return !strings.HasPrefix(name, "sv_")
		})
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("page (-measured +listed):\n%s", diff)
		}
	})
	t.Run("AreWhatTheAlertsLookAt", func(t *testing.T) {
		t.Parallel()
		checkAlerts(t, metricNames(t, measured.Registry()))
	})
	t.Run("ComeWithProbes", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct {
			path, peer string
			status     int
		}{
			{"/livez", "192.0.2.1:1234", http.StatusOK},
			{"/readyz/", "192.0.2.1:1234", http.StatusOK},
			{"/debug/pprof/heap", "127.0.0.1:1234", http.StatusOK},
			{"/debug/pprof/goroutine?debug=1", "[::1]:1234", http.StatusOK},
			{"/debug/pprof/", "[::ffff:127.0.0.1]:1234", http.StatusOK},
			{"/debug/pprof/heap", "192.0.2.1:1234", http.StatusForbidden},
			{"/debug/pprof/cmdline", "10.0.0.1:1234", http.StatusForbidden},
			{"/debug/pprof/", "[2001:db8::1]:1234", http.StatusForbidden},
		} {
			request := httptest.NewRequest(http.MethodGet, tt.path, http.NoBody)
			request.RemoteAddr = tt.peer
			request.Header.Set("X-Forwarded-For", "127.0.0.1")
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != tt.status {
				t.Errorf("%s for %s: status = %d, want %d", tt.path, tt.peer, answer.Code, tt.status)
			}
		}
	})
}

// metricNames lists what is measured.
func metricNames(tb testing.TB, gatherer prometheus.Gatherer) []string {
	tb.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	found := make([]string, len(families))
	for i, family := range families {
		found[i] = family.GetName()
	}
	return found
}

// alert is a rule of Prometheus.
type alert struct {
	Alert       string            `yaml:"alert"`
	Record      string            `yaml:"record"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// alerts reads the rules that alert.
func alerts(tb testing.TB) []alert {
	tb.Helper()
	file, err := os.Open(filepath.Join("deploy", "prometheus", "rules.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	var rules struct {
		Groups []struct {
			Name  string  `yaml:"name"`
			Rules []alert `yaml:"rules"`
		} `yaml:"groups"`
	}
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(&rules); err != nil {
		tb.Fatal(err)
	}
	var all []alert
	for _, group := range rules.Groups {
		all = append(all, slices.DeleteFunc(group.Rules, func(rule alert) bool { return rule.Alert == "" })...)
	}
	return all
}

func checkAlerts(tb testing.TB, measured []string) {
	tb.Helper()
	pages := fixture.Router(tb)
	looked := make(map[string]bool)
	rules := alerts(tb)
	for _, rule := range rules {
		for _, name := range regexp.MustCompile(`sv_[a-z_]+`).FindAllString(rule.Expr, -1) {
			name = strings.TrimSuffix(strings.TrimSuffix(name, "_count"), "_bucket")
			looked[name] = true
			if !slices.Contains(measured, name) {
				tb.Errorf("%s looks at %s, which is not measured", rule.Alert, name)
			}
		}
		runbook, err := url.Parse(rule.Annotations["runbook_url"])
		if err != nil || runbook.Fragment == "" || rule.Annotations["summary"] == "" {
			tb.Fatalf("%s: annotations = %v (%v), want a summary and a section of the runbook",
				rule.Alert, rule.Annotations, err)
		}
		checkReference(tb, pages, "/docs/", runbook.RequestURI()+"#"+runbook.Fragment)
	}
	if len(looked) < len(rules)/2 {
		tb.Errorf("alerts look at %v, want more", slices.Sorted(maps.Keys(looked)))
	}
}
