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
	"github.com/simplevalidations/simplevalidations/core/coretest/chaos/requests"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	// lingering is how long a request whose answer never came, or said that nobody knows, may still be under way.
	lingering = 20 * time.Second
	// mostTimelines is how many keys are told of in full.
	mostTimelines = 3
	// moreGoroutines and mostResident bound what a server may have in the end, the latter in MiB.
	moreGoroutines, mostResident = 60, 700
	// mostWaited is how many runs of a flood are executed before one of another organization at most. Runs that took
	// their turn would wait for any number.
	mostWaited = floodSenders * calmOrders / 2
)

// trial holds what was seen against what must be true.
type trial struct {
	*stage
	facts

	attempts []*requests.Attempt
	nemesis  *nemesis
	crowd    *crowd
	byKey    map[string][]*requests.Attempt
	// flooded is when the flood was let into the queue.
	flooded time.Time
	// broken are the promises that were broken, by the key that they are about; it is empty where they are about none.
	broken map[string][]string
	// counts are how often what happened.
	counts map[string]int
}

// slack is how far times of clients and of the database may differ.
func (t *trial) slack() time.Duration { return requests.ClockSlack + t.ground.Slack() }

func (t *trial) fail(key, format string, args ...any) {
	t.broken[key] = append(t.broken[key], fmt.Sprintf(format, args...))
}

// judge checks everything.
func (t *trial) judge(tb testing.TB) {
	tb.Helper()
	for _, database := range []*db.DB{t.DB, t.other.DB} {
		program.CheckDone(tb, database, program.EndedByDocument)
	}
	t.byKey = make(map[string][]*requests.Attempt)
	for _, a := range t.attempts {
		if a.Key != "" {
			t.byKey[requests.KeyOf(a.Org, a.Key)] = append(t.byKey[requests.KeyOf(a.Org, a.Key)], a)
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
		t.fail(requests.KeyOf(o.Org, o.Key), "a client that insisted got no definite answer")
	}
	t.judgeMisdeeds(tb)
	t.judgeCharges()
	t.judgeTold(tb)
	t.judgeFairness()
	t.judgeLeft(tb)
	t.judgeRest(tb)
}

// judgeMisdeeds takes over what triggers have found.
func (t *trial) judgeMisdeeds(tb testing.TB) {
	tb.Helper()
	const query = `SELECT at, what, org_id, key, was::text AS was, coalesce(became::text, 'nothing') AS became
		FROM chaos.broken`
	for _, found := range append(rowsOf[misdeed](tb, t.DB, query), rowsOf[misdeed](tb, t.other.DB, query)...) {
		found.At = t.ground.Real(found.At)
		unsure := t.ground.WentBack(found.At.Add(-lingering), found.At.Add(t.ground.Slack()))
		if unsure || t.excused(found) {
			continue
		}
		t.fail(requests.KeyOf(t.number(found.OrgID), found.Key), "%s at %s: %s -> %s", found.What,
			found.At.UTC().Format(shownTime), found.Was, found.Became)
	}
}

var canary = regexp.MustCompile(`canary-\d+`)

// judgeForeign wants nothing of one organization to be shown to another one.
func (t *trial) judgeForeign(a *requests.Attempt) {
	own := t.orgs[a.Org].Slug + " " + a.Key
	if id, err := uuid.Parse(a.Shown.ID); err == nil && t.runs[id] != nil && !a.Foreign {
		own += " " + t.runs[id].Key // It may be one of an attacker's.
	}
	for _, found := range canary.FindAllString(a.Body, -1) {
		if !strings.Contains(own, found) {
			t.fail(requests.KeyOf(a.Org, a.Key), "the answer to %s shows %s: %s", a.ID, found, a.Body)
		}
	}
	if a.Foreign && a.Status == http.StatusOK {
		t.fail("", "%s was shown a run of another organization: %s", a.ID, a.Body)
	}
	if a.Run != "" && !a.Foreign && a.Status == http.StatusNotFound {
		t.fail("", "%s did not find the acknowledged run %s", a.ID, a.Run)
	}
}

// judgeAnswer holds an answer to a start against what the request has done.
func (t *trial) judgeAnswer(a *requests.Attempt) {
	if a.Key == "" {
		return
	}
	name, made := requests.KeyOf(a.Org, a.Key), t.made[a.ID]
	t.counts[fmt.Sprintf("%d %s", a.Status, a.Shown.Code)]++
	if !t.judgeStanding(name, a) {
		if made != nil {
			t.fail(name, "%s was told that nothing was started, but has started %s: %s", a.ID, made.ID, a.Detail)
		}
		return
	}
	id, created := a.Created()
	switch {
	case a.Status == 0 || a.Shown.Code == api.CodeOutcomeUnknown:
		if made != nil {
			t.counts["unknown and started"]++
		} else {
			t.counts["unknown and not started"]++
		}
		if made != nil && a.Shown.RunID != "" && made.ID.String() != a.Shown.RunID {
			t.fail(name, "%s names run %s, but has started %s", a.ID, a.Shown.RunID, made.ID)
		}
	case created && a.Replayed:
		t.counts["replayed"]++
		first := t.runs[id]
		if first == nil || first.Key != a.Key || first.OrgID != t.orgs[a.Org].ID || first.RequestID != a.Original {
			t.fail(name, "%s replays run %s of request %s, which is %+v", a.ID, id, a.Original, first)
		}
	case created && made == nil && t.resumes(name, a, id):
		t.counts["resumed"]++
	case created:
		if made == nil || made.ID != id || made.Key != a.Key || made.OrgID != t.orgs[a.Org].ID {
			t.fail(name, "%s was told of run %s, but has started %+v", a.ID, id, made)
		}
	case a.Shown.Code == api.CodeUnavailable && strings.Contains(a.Detail, "has begun"):
		t.counts["begun"]++
		if len(t.uses[name]) == 0 {
			t.fail(name, "%s was told that it has begun, and nothing has", a.ID)
		}
	case made != nil:
		t.fail(name, "%s was told that nothing was started, but has started %s: %s", a.ID, made.ID, a.Detail)
	case a.Status == http.StatusConflict:
		t.judgeInProgress(name, a)
	case !slices.Contains([]api.Code{
		api.CodeUnavailable, api.CodeQuotaExceeded, api.CodeKeyReused,
	}, a.Shown.Code):
		t.fail(name, "%s was answered %d %s", a.ID, a.Status, a.Detail)
	}
}

// resumes reports whether a request may have ended what an earlier one with its key had begun: the run was not yet
// charged when the request came.
func (t *trial) resumes(name string, a *requests.Attempt, id uuid.UUID) bool {
	r := t.runs[id]
	u := t.useOf(name, r)
	return u != nil && r.Metric == "runs_overage" && u.Finished != nil && u.Finished.Add(t.slack()).After(a.Call)
}

// judgeInProgress wants another request to have been in progress when a request was refused because of that.
func (t *trial) judgeInProgress(name string, a *requests.Attempt) {
	for _, u := range t.uses[name] {
		slack := t.slack()
		if u.Created.Before(a.End.Add(slack)) && (u.Finished == nil || u.Finished.Add(slack).After(a.Call)) {
			return
		}
	}
	for _, other := range t.byKey[name] {
		end := other.End
		if other.Status == 0 || other.Status == http.StatusServiceUnavailable {
			end = end.Add(lingering)
		}
		if other != a && other.Call.Before(a.End) && end.After(a.Call) {
			return
		}
	}
	t.fail(name, "%s was told that another request is in progress, and there was none", a.ID)
}

// judgeKey wants one run for each use of a key, all answers to be the same bytes, and all attempts to have had their
// effects in some order.
func (t *trial) judgeKey(name string, all []*requests.Attempt) {
	uses := t.uses[name]
	for n, u := range uses {
		if n > 0 && u.Created.Add(t.ground.Slack()).Before(uses[n-1].Expires) {
			t.fail(name, "it was used again at %s, although it was kept until %s", u.Created, uses[n-1].Expires)
		}
		if n > 0 {
			t.counts["used again after the expiry"]++
		}
	}
	bodies := make(map[uuid.UUID]*requests.Attempt)
	var history []requests.Seen
	for _, a := range all {
		id, created := a.Created()
		if first := bodies[id]; created && first == nil {
			bodies[id] = a
		} else if created && first.Body != a.Body {
			t.fail(name, "%s and %s were answered %s and %s", first.ID, a.ID, first.Body, a.Body)
		}
		t.judgeRefusal(name, a, bodies)
		if s, ok := t.seenOf(name, a); ok {
			history = append(history, s)
		}
	}
	if !requests.Linearizable(history, t.slack()) {
		t.fail(name, "no order of the attempts explains their answers")
	}
}

// seenOf is the attempt as the model takes it, if it has had or seen an effect.
func (t *trial) seenOf(name string, a *requests.Attempt) (requests.Seen, bool) {
	s := requests.Seen{Document: a.Document, Call: a.Call, End: a.End}
	id, created := a.Created()
	switch made := t.made[a.ID]; {
	case made != nil:
		s.Effect, s.Run, s.Expires = requests.Starts, made.ID, t.expires(name, made)
		if !a.Definite() && made.Committed.After(s.End) {
			s.End = made.Committed
		}
	case created && t.runs[id] != nil:
		s.Effect, s.Run = requests.Replays, id
	case a.Shown.Code == api.CodeKeyReused:
		s.Effect = requests.Differs
	default:
		return s, false
	}
	return s, true
}

// judgeRefusal wants a key that has been answered for to be answered in the same way until it expires. The bodies are
// those of the attempts that began before.
func (t *trial) judgeRefusal(name string, a *requests.Attempt, bodies map[uuid.UUID]*requests.Attempt) {
	if _, created := a.Created(); created || !a.Definite() || a.Shown.Code == api.CodeOrganizationSuspended ||
		a.Status == http.StatusUnauthorized { // judgeStanding looks at these.
		return
	}
	for id, first := range bodies {
		r := t.runs[id]
		if r != nil && first.End.Before(a.Call) && first.Document == a.Document &&
			a.End.Add(t.slack()).Before(t.expires(name, r)) {
			t.fail(name, "%s was refused with %s although %s had been answered 201", a.ID, a.Detail, first.ID)
		}
	}
}

// judgeCharges wants all documents to have passed, as each does unless its time was skipped. It wants the billing
// service to have made one charge for each run beyond the quota, and no other, and the validator to have acted once for
// each run.
func (t *trial) judgeCharges() {
	charged := make(map[string]int)
	for _, c := range t.billing.Charges() {
		charged[c.RunID]++
		if n := charged[c.RunID]; n > 1 {
			t.fail("", "run %s was charged %d times", c.RunID, n)
		}
	}
	for id, r := range t.runs {
		o := t.orgs[t.number(r.OrgID)]
		if r.Result == "TIMED_OUT" && t.ground.MovedOn(r.Committed.Add(-t.slack()), *r.Ended) {
			t.counts["out of time"]++
		} else if r.Result != "PASS" && (o.leaves.IsZero() || o.moves) {
			t.fail(requests.KeyOf(t.number(r.OrgID), r.Key), "run %s ended with %s", id, r.Result)
		}
		beyond := r.Metric == "runs_overage"
		if beyond != (charged[id.String()] == 1) {
			t.fail(requests.KeyOf(t.number(r.OrgID), r.Key), "run %s has the metric %s and %d charges", id, r.Metric,
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
		if n := called[id.String()]; r.OrgID == t.payer().ID && n != 1 && (n > 1 || r.Result != "TIMED_OUT") {
			t.fail(requests.KeyOf(t.number(r.OrgID), r.Key), "the validator has acted %d times for run %s", n, id)
		}
	}
}

// judgeFairness wants runs of others to have waited for a small part of the flood that came when nothing was out of
// order.
func (t *trial) judgeFairness() {
	var flood []time.Time
	for _, r := range t.runs {
		if strings.Contains(r.Key, calm) && r.Ended != nil {
			flood = append(flood, *r.Ended)
		}
	}
	for _, r := range t.runs {
		if r.OrgID == t.orgs[0].ID || r.OrgID == t.payer().ID || r.Ended == nil {
			continue
		}
		waited := 0
		for _, ended := range flood {
			if ended.After(t.flooded) && ended.After(r.Committed) && ended.Before(*r.Ended) {
				waited++
			}
		}
		t.counts["beside the flood"] += min(1, waited)
		t.counts["waited for so many of the flood"] = max(t.counts["waited for so many of the flood"], waited)
		if waited > mostWaited {
			t.fail(requests.KeyOf(t.number(r.OrgID), r.Key), "run %s has waited for %d runs of a flood of %d", r.ID,
				waited, len(flood))
		}
	}
}

// judgeTold wants the end of each run to have been told to the webhook of its organization, and to no other, by one
// event.
func (t *trial) judgeTold(tb testing.TB) {
	tb.Helper()
	for _, database := range []*db.DB{t.DB, t.other.DB} {
		program.Await(tb, "nothing is left to deliver", func() bool {
			return program.Count(tb, database, `SELECT (SELECT count(*) FROM events WHERE position IS NULL)
				+ (SELECT count(*) FROM webhook_deliveries WHERE NOT delivered)`) == 0
		})
	}
	for n, o := range t.orgs {
		told := o.told.Told()
		for _, r := range t.runs {
			// Webhooks do not outlive a deletion or a move.
			events := len(told[r.ID.String()])
			if r.OrgID == o.ID && (events > 1 || events == 0 && o.leaves.IsZero()) {
				t.fail(requests.KeyOf(n, r.Key), "run %s was told of by %d events", r.ID, events)
			}
			if r.OrgID != o.ID && events > 0 {
				t.fail(requests.KeyOf(n, r.Key), "organization %d was told of run %s of another one", n, r.ID)
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
// waited for in vain, of conflicts, and of a server that ends or starts, only reads, or has a disk that fails or is
// full.
func explained() []string {
	return []string{
		"08", "25P01", "25P02", "25P03", "40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "57P05",
		"53300", "25006", "53100", "58030",
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
			WHERE datname = current_database() AND state LIKE 'idle in transaction%'
				AND state_change < now() - interval '5 seconds'`,
		"webhooks that are leased": "SELECT count(*) FROM webhooks WHERE lease_until > now()",
	} {
		program.Await(tb, "no "+what, func() bool {
			return program.Count(tb, t.DB, query)+program.Count(tb, t.other.DB, query) == 0
		})
	}
	for _, h := range t.hosts {
		if n := h.Metric(tb, "go_goroutines"); n > h.idle+moreGoroutines {
			t.fail("", "%s has %d goroutines, %d at the beginning", h.name, n, h.idle)
		}
		if n := h.Metric(tb, "process_resident_memory_bytes") >> 20; n > mostResident {
			t.fail("", "%s has %d MiB in memory", h.name, n)
		}
	}
	line := regexp.MustCompile(`(?m)^\S+ \S+ \S+ \[\d+\] (\w{5}) (?:ERROR|FATAL|PANIC):.*$`)
	for _, found := range line.FindAllStringSubmatch(t.pair.Said(tb), -1) {
		t.counts["SQLSTATE "+found[1]]++
		if !slices.ContainsFunc(explained(), func(code string) bool { return strings.HasPrefix(found[1], code) }) {
			t.fail("", "PostgreSQL said: %s", found[0])
		}
	}
}
