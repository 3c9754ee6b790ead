package chaos

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// racers is how many requests are sent at once.
const racers = 64

// sent is a request and what became of it.
type sent struct {
	order  program.Order
	answer program.Answer
}

// race sends orders at once, in turn to the servers.
func race(tb testing.TB, c *program.Client, servers []*program.Server, orders []program.Order) []sent {
	tb.Helper()
	barrier := make(chan struct{})
	answers := make([]sent, len(orders))
	failures := make([]error, len(orders))
	var group sync.WaitGroup
	for i, o := range orders {
		group.Go(func() {
			<-barrier
			a, err := c.Try(tb.Context(), servers[i%len(servers)].URL(), o)
			answers[i], failures[i] = sent{order: o, answer: a}, err
		})
	}
	close(barrier)
	group.Wait()
	for _, err := range failures {
		if err != nil {
			tb.Fatalf("a raced request was not answered: %v", err)
		}
	}
	return answers
}

// firstOf returns the one answer that created the run.
func firstOf(tb testing.TB, answers []sent) sent {
	tb.Helper()
	var firsts []sent
	for _, s := range answers {
		if s.answer.Created() && !s.answer.Replayed() {
			firsts = append(firsts, s)
		}
	}
	if len(firsts) != 1 {
		tb.Fatalf("first answers = %d, want 1", len(firsts))
	}
	return firsts[0]
}

// checkOthers demands of every other answer that it is a replay, a refusal for the moment or, where the document was
// another one, a refusal for good.
func checkOthers(tb testing.TB, first sent, answers []sent) {
	tb.Helper()
	for _, s := range answers {
		same := bytes.Equal(s.order.Body, first.order.Body)
		switch a := s.answer; {
		case a.Created() && same:
			if !bytes.Equal(a.Body, first.answer.Body) {
				tb.Errorf("answer = %s, want %s", a.Body, first.answer.Body)
			}
		case a.Status == http.StatusConflict:
			program.WantProblem(tb, a, http.StatusConflict, core.CodeKeyInProgress)
			if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 1 {
				tb.Errorf("Retry-After = %q, want 1 or more", a.Header.Get("Retry-After"))
			}
		case !same:
			p := program.WantProblem(tb, a, http.StatusUnprocessableEntity, core.CodeKeyReused)
			if !slices.Equal(p.Differs, []string{"content"}) {
				tb.Errorf("differs = %v, want content", p.Differs)
			}
		default:
			tb.Errorf("answer to the same document = %d, want 201 or 409: %s", a.Status, a.Body)
		}
	}
}

// checkOneEffect demands one run, one charge and one job, which was for the document of the first answer.
func checkOneEffect(tb testing.TB, i *program.Installation, key string, first sent) {
	tb.Helper()
	run := first.answer.Run(tb)
	sum := sha256.Sum256(first.order.Body)
	for _, want := range []struct{ what, query string }{
		{"runs", "SELECT count(*) FROM validation_runs WHERE idempotency_key = $1 OR id = $2 AND $3::bytea IS NULL"},
		{"runs of the document", `
			SELECT count(*) FROM validation_runs AS r JOIN submissions AS s ON s.id = r.submission_id
			WHERE r.idempotency_key = $1 AND r.id = $2 AND s.sha256 = $3`},
		{"executions", `
			SELECT sum(attempts) FROM validation_runs
			WHERE idempotency_key = $1 AND id = $2 AND $3::bytea IS NOT NULL`},
	} {
		if got := program.Count(tb, i.DB, want.query, key, run, sum[:]); got != 1 {
			tb.Errorf("%s of key %s = %d, want 1", want.what, key, got)
		}
	}
}

func TestOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	i := program.Install(t, "SV_RUN_SWEEP_AFTER=5m", "SV_RUN_LEASE=1m", "SV_DB_MAX_CONNS=20")
	servers := []*program.Server{program.Serve(t, i.Settings), program.Serve(t, i.Settings)}
	c := program.NewClient(t, i.Harbour.Tokens.Executor)
	firsts := map[string]sent{}
	for k := range racedKeys {
		same := program.Building(t, "same-"+strconv.Itoa(k))
		answers := race(t, c, servers, slices.Repeat([]program.Order{same}, racers))
		firsts[same.Key] = firstOf(t, answers)
		checkOthers(t, firsts[same.Key], answers)

		one, other := program.Building(t, "mixed-"+strconv.Itoa(k)), program.Building(t, "mixed-"+strconv.Itoa(k))
		other.Body = bytes.Replace(other.Body, []byte("Harbour House"), []byte("Another House"), 1)
		answers = race(t, c, servers, slices.Repeat([]program.Order{one, one, other, other}, racers/4))
		firsts[one.Key] = firstOf(t, answers)
		checkOthers(t, firsts[one.Key], answers)
	}
	program.CheckAtRest(t, i.DB)
	for key, first := range firsts {
		checkOneEffect(t, i, key, first)
	}
	if got := program.Count(t, i.DB, "SELECT sum(used) FROM usage_counters"); got != len(firsts) {
		t.Errorf("charged runs = %d, want %d", got, len(firsts))
	}
}

func TestQuotaAtOnce(t *testing.T) {
	t.Parallel()
	const quota, starts = 3, 50
	i := program.Install(t)
	servers := []*program.Server{program.Serve(t, i.Settings), program.Serve(t, i.Settings)}
	c := program.NewClient(t, i.Tiny.Tokens.Executor)
	orders := make([]program.Order, starts)
	for k := range orders {
		orders[k] = program.Building(t, fmt.Sprintf("quota-%d", k))
	}
	answers := race(t, c, servers, orders)
	var refused []program.Order
	for _, s := range answers {
		if s.answer.Created() {
			continue
		}
		p := program.WantProblem(t, s.answer, http.StatusTooManyRequests, core.CodeQuotaExceeded)
		if p.Retryable || s.answer.Header.Get("Retry-After") == "" {
			t.Errorf("refusal = %+v with Retry-After %q, want one that is not retryable and says when the quota is new",
				p, s.answer.Header.Get("Retry-After"))
		}
		refused = append(refused, s.order)
	}
	if got := starts - len(refused); got != quota {
		t.Fatalf("accepted starts = %d, want %d", got, quota)
	}
	checkUsage(t, i, i.Tiny.ID, quota)
	program.WantProblem(t, c.Start(t, servers[0].URL(), refused[0]), http.StatusTooManyRequests, core.CodeQuotaExceeded)

	program.Execute(t, i.Settings, "", "org", "set-quota", "tiny-quota", "4")
	first := c.Start(t, servers[1].URL(), refused[0])
	program.WantCreated(t, first)
	program.WantReplay(t, c.Start(t, servers[0].URL(), refused[0]), first)
	program.WantProblem(t, c.Start(t, servers[0].URL(), refused[1]), http.StatusTooManyRequests, core.CodeQuotaExceeded)
	checkUsage(t, i, i.Tiny.ID, quota+1)
	program.CheckAtRest(t, i.DB)
}

// checkUsage demands that so much is used and as many keys are remembered.
func checkUsage(tb testing.TB, i *program.Installation, org uuid.UUID, want int) {
	tb.Helper()
	if got := program.Count(tb, i.DB, "SELECT sum(used) FROM usage_counters WHERE org_id = $1", org); got != want {
		tb.Errorf("used = %d, want %d", got, want)
	}
	if got := program.Count(tb, i.DB, "SELECT count(*) FROM idempotency_keys WHERE org_id = $1", org); got != want {
		tb.Errorf("keys = %d, want %d", got, want)
	}
}
