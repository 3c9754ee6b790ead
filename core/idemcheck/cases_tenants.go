package idemcheck

import "errors"

func triesOfTenants() map[string]func(*trial) error {
	return map[string]func(*trial) error{
		"tenant/same-request": (*trial).sameRequestOfOther,
		"tenant/own-request":  (*trial).ownRequestOfOther,
		"user/same-key":       (*trial).sameKeyOfUser,
	}
}

func (t *trial) ownRequestOfOther() error {
	first, err := t.first(t.message(1))
	if err != nil {
		return err
	}
	m := t.message(1).with(*t.Description.Tenant).about(t.ref(2))
	return t.ownWork(m, t.send(m), first)
}

func (t *trial) sameKeyOfUser() error {
	if _, err := t.first(t.message(1)); err != nil {
		return err
	}
	if got := t.send(t.message(1).with(*t.Description.User)); !got.ok() && !got.refused() {
		return failure("it was answered %s", got)
	}
	return nil
}

// sameRequestOfOther counts before and after, because the tenants may see each other's effects or not.
func (t *trial) sameRequestOfOther() error {
	one := t.message(1)
	other := one.with(*t.Description.Tenant)
	if own := t.settle(t.message(2).with(*t.Description.Tenant)); !own.ok() {
		return unjudged("the other tenant was answered %s", own)
	}
	first, err := t.first(one)
	if err != nil {
		return err
	}
	before, err := t.count(other)
	if errors.Is(err, errUncounted) {
		if got := t.send(other); got.repeats(first) && got.mark() != "" {
			return failure("the other tenant got the answer of the first one: %s", got)
		}
		return err
	}
	if err != nil {
		return err
	}
	got := t.send(other)
	if got.refused() { // It may name what only one tenant can have; own-request has a key that is shared.
		return nil
	}
	if !got.ok() {
		return failure("the other tenant was answered %s", got)
	}
	after, err := t.count(other)
	if err == nil && after != before+1 {
		err = failure("the other tenant was answered %s, and nothing was done for it", got)
	}
	return err
}
