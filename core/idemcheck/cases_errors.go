package idemcheck

import "github.com/simplevalidations/simplevalidations/core"

func triesOfErrors() map[string]func(*trial) error {
	return map[string]func(*trial) error{
		"error/corrected":  (*trial).corrected,
		"error/again":      (*trial).refusedAgain,
		"error/500-effect": (*trial).failsTwice,
		"error/500-retry":  (*trial).failsThenSucceeds,
	}
}

func (t *trial) refusedAgain() error {
	for i, change := range t.Description.Refused {
		m := t.message(i).with(change)
		first, again := t.send(m), t.send(m)
		if first.status != again.status {
			return failure("it was answered %s and then %s", first, again)
		}
		if err := t.wantNothing(m); err != nil {
			return err
		}
	}
	return nil
}

// fails sends the request that fails in the server.
func (t *trial) fails(m message) error {
	if got := t.send(m); got.status/100 != 5 {
		return unjudged("the request that fails was answered %s", got)
	}
	return nil
}

func (t *trial) failsTwice() error {
	m := t.message(1).with(*t.Description.Failing)
	if err := t.fails(m); err != nil {
		return err
	}
	t.send(m)
	got, err := t.count(m)
	if err == nil && got > 1 {
		err = failure("%s", core.Plural(got, "effect"))
	}
	return err
}

func (t *trial) failsThenSucceeds() error {
	m := t.message(1).with(*t.Description.Failing)
	if err := t.fails(m); err != nil {
		return err
	}
	right, err := t.mended(m, t.message(1))
	if err != nil {
		return err
	}
	if got := t.send(right); !got.ok() {
		return failure("it was answered %s", got)
	}
	return t.wantEffects(right, 1)
}

// mended is the same message where a command mends it, and the right one otherwise.
func (t *trial) mended(wrong, right message) (message, error) {
	if wrong.Mend == "" {
		return right, nil
	}
	if _, err := t.shell(t.ctx, wrong.Mend); err != nil {
		return wrong, unjudged("mend has failed: %v", err)
	}
	return wrong, nil
}

// corrected sends the right request after each that is refused; where a command mends it, that is the same one.
func (t *trial) corrected() error {
	for i, change := range t.Description.Refused {
		right := t.message(i)
		wrong := right.with(change)
		refused := t.send(wrong)
		if refused.ok() || refused.err != nil {
			return unjudged("the request that is refused was answered %s", refused)
		}
		if err := t.wantNothing(wrong); err != nil {
			return err
		}
		right, err := t.mended(wrong, right)
		if err != nil {
			return err
		}
		if got := t.settle(right); !got.ok() {
			return failure("after %s the right request was answered %s", refused, got)
		}
		if err := t.wantEffects(right, 1); err != nil {
			return err
		}
	}
	return nil
}
