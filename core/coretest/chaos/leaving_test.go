package chaos

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	leavingClients = 4
	leavingPace    = 10 * time.Millisecond
)

// standing is what an organization's members may do. It changes during a command, and holds from its end on.
type standing int32

const (
	isActive standing = iota
	isChanging
	isSuspended
	isDeleted
)

// leaving are clients of an organization that is suspended, resumed and deleted. They send starts, and each of them
// again, and know which answers they may get.
type leaving struct {
	client   *program.Client
	base     func() string
	history  *program.History
	standing atomic.Int32
	refused  atomic.Int64
	replayed atomic.Int64

	stop     chan struct{}
	group    sync.WaitGroup
	failures chan error
}

func startLeaving(tb testing.TB, token string, base func() string) *leaving {
	tb.Helper()
	l := &leaving{
		client: program.NewClient(tb, token), base: base, history: program.NewHistory(),
		stop: make(chan struct{}), failures: make(chan error, leavingClients),
	}
	orders := []program.Order{program.Building(tb, ""), program.Readings(tb, "")}
	ctx := tb.Context()
	for c := range leavingClients {
		l.group.Go(func() {
			if err := l.work(ctx, fmt.Sprintf("leaving-%d", c), orders); err != nil {
				l.failures <- err
			}
		})
	}
	return l
}

func (l *leaving) work(ctx context.Context, name string, orders []program.Order) error {
	for i := 0; ; i++ {
		o := orders[i%len(orders)]
		for _, n := range []int{i, i / 2} { // A new key, and one that was sent before.
			o.Key = fmt.Sprintf("%s-%d-%d", name, i%len(orders), n-n%len(orders))
			select {
			case <-l.stop:
				return nil
			case <-time.After(leavingPace):
			}
			before := standing(l.standing.Load())
			a, err := l.client.Try(ctx, l.base(), o)
			if err != nil {
				continue // The process may be frozen.
			}
			if err := l.judge(o.Key, a, before, standing(l.standing.Load())); err != nil {
				return err
			}
		}
	}
}

// judge looks at an answer to a request that was sent at one standing and answered at another.
func (l *leaving) judge(key string, a program.Answer, before, after standing) error {
	certain := before == after
	code := a.Problem().Code
	switch {
	case a.Status == http.StatusConflict || a.Status == http.StatusServiceUnavailable:
		return nil
	case a.Created() && (!certain || before == isActive || before == isChanging):
		if a.Replayed() {
			l.replayed.Add(1)
		}
		return l.history.Note(key, a)
	case a.Status == http.StatusForbidden && code == api.CodeOrganizationSuspended &&
		(!certain || before == isSuspended || before == isChanging):
		l.refused.Add(1)
		return nil
	case a.Status == http.StatusUnauthorized && (!certain || before == isDeleted || before == isChanging):
		l.refused.Add(1)
		return nil
	}
	return fmt.Errorf("start with key %s at standing %d to %d: %d %s", key, before, after, a.Status, a.Body)
}

// become notes the organization's standing after a change.
func (l *leaving) become(to standing, change func()) {
	l.standing.Store(int32(isChanging))
	change()
	l.standing.Store(int32(to))
}

// awaitRefusals waits until that many more requests were refused.
func (l *leaving) awaitRefusals(tb testing.TB, more int64) {
	tb.Helper()
	goal := l.refused.Load() + more
	program.Await(tb, "clients are refused", func() bool { return l.refused.Load() >= goal || len(l.failures) > 0 })
}

// awaitProgress waits until that many more keys have been answered.
func (l *leaving) awaitProgress(tb testing.TB, more int) {
	tb.Helper()
	goal := l.history.Size() + more
	program.Await(tb, "clients get answers", func() bool { return l.history.Size() >= goal || len(l.failures) > 0 })
}

func (l *leaving) finish(tb testing.TB) {
	tb.Helper()
	close(l.stop)
	l.group.Wait()
	close(l.failures)
	for err := range l.failures {
		tb.Error(err)
	}
	tb.Logf("keys %d, refused %d", l.history.Size(), l.refused.Load())
}
