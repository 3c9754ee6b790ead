package random

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	// lingering is how long a request whose answer never came, or said that nobody knows, may still be under way.
	lingering = 20 * time.Second
	// mostTimelines is how many keys are told of in full.
	mostTimelines = 3
	// moreGoroutines and mostResident bound what a server may have in the end, the latter in MiB.
	moreGoroutines, mostResident = 60, 700
)

// trial holds what was seen against what must be true.
type trial struct {
	*stage
	facts

	attempts []*attempt
	nemesis  *nemesis
	crowd    *crowd
	byKey    map[string][]*attempt
	// broken are the promises that were broken, by the key that they are about; it is empty where they are about none.
	broken map[string][]string
	// counts are how often what happened.
	counts map[string]int
}

func (t *trial) fail(key, format string, args ...any) {
	t.broken[key] = append(t.broken[key], fmt.Sprintf(format, args...))
}

// judge checks everything.
func (t *trial) judge(tb testing.TB) {
	tb.Helper()
	program.CheckDone(tb, t.DB)
	t.byKey = make(map[string][]*attempt)
	for _, a := range t.attempts {
		if a.key != "" {
			t.byKey[keyOf(a.org, a.key)] = append(t.byKey[keyOf(a.org, a.key)], a)
		}
	}
	for _, a := range t.attempts {
		t.judgeForeign(a)
		t.judgeAnswer(a)
	}
	for name, all := range t.byKey {
		t.judgeKey(name, all)
	}
	for _, o := range t.crowd.given {
		t.fail(keyOf(o.org, o.key), "a client that insisted got no definite answer")
	}
	for _, found := range rowsOf[misdeed](tb, t.DB, `SELECT at, what, org_id, key, was::text AS was,
			coalesce(became::text, 'nothing') AS became FROM chaos.broken`) {
		t.fail(keyOf(t.number(found.OrgID), found.Key), "%s at %s: %s -> %s", found.What,
			found.At.UTC().Format(clock), found.Was, found.Became)
	}
	t.judgeCharges()
	t.judgeTold(tb)
	t.judgeRest(tb)
}

var canary = regexp.MustCompile(`canary-\d+`)

// judgeForeign wants nothing of one organization to be shown to another one.
func (t *trial) judgeForeign(a *attempt) {
	own := t.orgs[a.org].Slug + " " + a.key
	if id, err := uuid.Parse(a.shown.ID); err == nil && t.runs[id] != nil && !a.foreign {
		own += " " + t.runs[id].Key // It may be one of an attacker's.
	}
	for _, found := range canary.FindAllString(a.body, -1) {
		if !strings.Contains(own, found) {
			t.fail(keyOf(a.org, a.key), "the answer to %s shows %s: %s", a.id, found, a.body)
		}
	}
	if a.foreign && a.status == http.StatusOK {
		t.fail("", "%s was shown a run of another organization: %s", a.id, a.body)
	}
	if a.run != "" && !a.foreign && a.status == http.StatusNotFound {
		t.fail("", "%s did not find the acknowledged run %s", a.id, a.run)
	}
}

// judgeAnswer holds an answer to a start against what the request has done.
func (t *trial) judgeAnswer(a *attempt) {
	if a.key == "" {
		return
	}
	name, made := keyOf(a.org, a.key), t.made[a.id]
	t.counts[fmt.Sprintf("%d %s", a.status, a.shown.Code)]++
	id, created := a.created()
	switch {
	case a.status == 0 || a.shown.Code == api.CodeOutcomeUnknown:
		if made != nil {
			t.counts["unknown and started"]++
		} else {
			t.counts["unknown and not started"]++
		}
		if made != nil && a.shown.RunID != "" && made.ID.String() != a.shown.RunID {
			t.fail(name, "%s names run %s, but has started %s", a.id, a.shown.RunID, made.ID)
		}
	case created && a.replayed:
		t.counts["replayed"]++
		first := t.runs[id]
		if first == nil || first.Key != a.key || first.OrgID != t.orgs[a.org].ID || first.RequestID != a.original {
			t.fail(name, "%s replays run %s of request %s, which is %+v", a.id, id, a.original, first)
		}
	case created && made == nil && t.resumes(name, a, id):
		t.counts["resumed"]++
	case created:
		if made == nil || made.ID != id || made.Key != a.key || made.OrgID != t.orgs[a.org].ID {
			t.fail(name, "%s was told of run %s, but has started %+v", a.id, id, made)
		}
	case a.shown.Code == api.CodeUnavailable && strings.Contains(a.detail, "has begun"):
		t.counts["begun"]++
		if len(t.uses[name]) == 0 {
			t.fail(name, "%s was told that it has begun, and nothing has", a.id)
		}
	case made != nil:
		t.fail(name, "%s was told that nothing was started, but has started %s: %s", a.id, made.ID, a.detail)
	case a.status == http.StatusConflict:
		t.judgeInProgress(name, a)
	case !slices.Contains([]api.Code{
		api.CodeUnavailable, api.CodeQuotaExceeded, api.CodeKeyReused,
	}, a.shown.Code):
		t.fail(name, "%s was answered %d %s", a.id, a.status, a.detail)
	}
}

// resumes reports whether a request may have ended what an earlier one with its key had begun: the run was not yet
// charged when the request came.
func (t *trial) resumes(name string, a *attempt, id uuid.UUID) bool {
	r := t.runs[id]
	u := t.useOf(name, r)
	return u != nil && r.Metric == "runs_overage" && u.Finished != nil && u.Finished.After(a.call)
}

// judgeInProgress wants another request to have been in progress when a request was refused because of that.
func (t *trial) judgeInProgress(name string, a *attempt) {
	for _, u := range t.uses[name] {
		if u.Created.Before(a.end) && (u.Finished == nil || u.Finished.After(a.call)) {
			return
		}
	}
	for _, other := range t.byKey[name] {
		end := other.end
		if other.status == 0 || other.status == http.StatusServiceUnavailable {
			end = end.Add(lingering)
		}
		if other != a && other.call.Before(a.end) && end.After(a.call) {
			return
		}
	}
	t.fail(name, "%s was told that another request is in progress, and there was none", a.id)
}

// judgeKey wants one run for each use of a key, all answers to be the same bytes, and all attempts to have had their
// effects in some order.
func (t *trial) judgeKey(name string, all []*attempt) {
	uses := t.uses[name]
	for n, u := range uses {
		if n > 0 && u.Created.Before(uses[n-1].Expires) {
			t.fail(name, "it was used again at %s, although it was kept until %s", u.Created, uses[n-1].Expires)
		}
		if n > 0 {
			t.counts["used again after the expiry"]++
		}
	}
	bodies := make(map[uuid.UUID]*attempt)
	var history []seen
	for _, a := range all {
		id, created := a.created()
		if first := bodies[id]; created && first == nil {
			bodies[id] = a
		} else if created && first.body != a.body {
			t.fail(name, "%s and %s were answered %s and %s", first.id, a.id, first.body, a.body)
		}
		t.judgeRefusal(name, a, bodies)
		if s, ok := t.seenOf(name, a); ok {
			history = append(history, s)
		}
	}
	if !linearizable(history) {
		t.fail(name, "no order of the attempts explains their answers")
	}
}

// seenOf is the attempt as the model takes it, if it has had or seen an effect.
func (t *trial) seenOf(name string, a *attempt) (seen, bool) {
	s := seen{document: a.document, call: a.call, end: a.end}
	id, created := a.created()
	switch made := t.made[a.id]; {
	case made != nil:
		s.effect, s.run, s.expires = starts, made.ID, t.expires(name, made)
		if !definite(a) && made.Committed.After(s.end) {
			s.end = made.Committed
		}
	case created && t.runs[id] != nil:
		s.effect, s.run = replays, id
	case a.shown.Code == api.CodeKeyReused:
		s.effect = differs
	default:
		return s, false
	}
	return s, true
}

// judgeRefusal wants a key that has been answered for to be answered in the same way until it expires. The bodies are
// those of the attempts that began before.
func (t *trial) judgeRefusal(name string, a *attempt, bodies map[uuid.UUID]*attempt) {
	if _, created := a.created(); created || !definite(a) {
		return
	}
	for id, first := range bodies {
		r := t.runs[id]
		if r != nil && first.end.Before(a.call) && first.document == a.document && a.end.Before(t.expires(name, r)) {
			t.fail(name, "%s was refused with %s although %s had been answered 201", a.id, a.detail, first.id)
		}
	}
}

// judgeCharges wants the billing service to have made one charge for each run beyond the quota, and no other, and the
// validator to have acted once for each run.
func (t *trial) judgeCharges() {
	charged := make(map[string]int)
	for _, c := range t.billing.Charges() {
		charged[c.RunID]++
		if n := charged[c.RunID]; n > 1 {
			t.fail("", "run %s was charged %d times", c.RunID, n)
		}
	}
	for id, r := range t.runs {
		beyond := r.Metric == "runs_overage"
		if beyond != (charged[id.String()] == 1) {
			t.fail(keyOf(t.number(r.OrgID), r.Key), "run %s has the metric %s and %d charges", id, r.Metric,
				charged[id.String()])
		}
		delete(charged, id.String())
	}
	for id := range charged {
		t.fail("", "a run %s was charged that is not there", id)
	}
	t.counts["charged"] = len(t.billing.Charges())
	// However often the validator was asked, it has to have acted once for each run of its organization.
	called := make(map[string]int)
	for _, c := range t.validator.Calls() {
		called[c.Run]++
		t.counts["validator asked again"] += c.Attempts - 1
	}
	for id, r := range t.runs {
		if n := called[id.String()]; r.OrgID == t.orgs[len(t.orgs)-1].ID && n != 1 {
			t.fail(keyOf(t.number(r.OrgID), r.Key), "the validator has acted %d times for run %s", n, id)
		}
	}
}

// judgeTold wants the end of each run to have been told to the webhook of its organization, and to no other, by one
// event.
func (t *trial) judgeTold(tb testing.TB) {
	tb.Helper()
	program.Await(tb, "nothing is left to deliver", func() bool {
		return program.Count(tb, t.DB, `SELECT (SELECT count(*) FROM events WHERE position IS NULL)
			+ (SELECT count(*) FROM webhook_deliveries WHERE NOT delivered)`) == 0
	})
	for n, o := range t.orgs {
		told := o.told.Told()
		for _, r := range t.runs {
			if r.OrgID == o.ID && len(told[r.ID.String()]) != 1 {
				t.fail(keyOf(n, r.Key), "run %s was told of by %d events", r.ID, len(told[r.ID.String()]))
			}
			if r.OrgID != o.ID && len(told[r.ID.String()]) > 0 {
				t.fail(keyOf(n, r.Key), "organization %d was told of run %s of another one", n, r.ID)
			}
		}
		for _, events := range told {
			for _, times := range events {
				t.counts["told again"] += times - 1
			}
		}
	}
}

// explained are the errors that faults explain, by their SQLSTATE: those of lost sessions, of what was canceled or
// waited for in vain, of conflicts, and of a server that ends or starts.
func explained() []string {
	return []string{
		"08", "25P01", "25P02", "25P03", "40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "57P05",
		"53300",
	}
}

// judgeRest wants everything to be as it was before: nothing is held, the servers are back to their size, and the
// database has complained of nothing that the faults do not explain.
func (t *trial) judgeRest(tb testing.TB) {
	tb.Helper()
	for what, query := range map[string]string{
		"keys that are locked": `SELECT count(*) FROM idempotency_keys
			WHERE locked_until IS NOT NULL OR recovery_point <> 'finished'`,
		"sessions in a transaction": `SELECT count(*) FROM pg_stat_activity
			WHERE datname = 'app' AND state LIKE 'idle in transaction%'
				AND state_change < now() - interval '5 seconds'`,
		"webhooks that are leased":   "SELECT count(*) FROM webhooks WHERE lease_until > now()",
		"verdicts that are not PASS": "SELECT count(*) FROM validation_runs WHERE result <> 'PASS'",
	} {
		program.Await(tb, "no "+what, func() bool { return program.Count(tb, t.DB, query) == 0 })
	}
	for _, h := range t.hosts {
		if n := h.Metric(tb, "go_goroutines"); n > h.idle+moreGoroutines {
			t.fail("", "%s has %d goroutines, %d at the beginning", h.name, n, h.idle)
		}
		if n := h.Metric(tb, "process_resident_memory_bytes") >> 20; n > mostResident {
			t.fail("", "%s has %d MiB in memory", h.name, n)
		}
	}
	t.keepLog(tb)
	line := regexp.MustCompile(`(?m)^\S+ \S+ \S+ \[\d+\] (\w{5}) (?:ERROR|FATAL|PANIC):.*$`)
	for _, found := range line.FindAllStringSubmatch(t.log.String(), -1) {
		t.counts["SQLSTATE "+found[1]]++
		if !slices.ContainsFunc(explained(), func(code string) bool { return strings.HasPrefix(found[1], code) }) {
			t.fail("", "PostgreSQL said: %s", found[0])
		}
	}
}
