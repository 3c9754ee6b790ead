package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// brokenReference is a reference that leads nowhere, and the name that it may mean.
type brokenReference struct {
	Finding
	meant string
}

// blame reports broken references. If all that mean one name agree on another, its object is to blame.
func (r *Findings) blame(book *nameBook) {
	groups, culprits := map[string][]brokenReference{}, map[string]*Object{}
	key := func(one brokenReference) string { return one.Check + one.Code + one.meant }
	for _, one := range book.broken {
		groups[key(one)] = append(groups[key(one)], one)
	}
	for name, group := range groups {
		culprits[name] = r.culprit(book, group)
	}
	for _, one := range book.broken {
		group, culprit := groups[key(one)], culprits[key(one)]
		switch {
		case culprit == nil:
			one.Message += engine.DidYouMean(one.meant)
			r.Find(one.Finding)
		case one.Field == group[0].Field:
			message := fmt.Sprintf("%s, which %d fields name, and none names %s%s",
				one.Message, len(group), engine.Quote(one.meant), engine.DidYouMean(one.Field.Text))
			r.Add(one.Check, one.Code, culprit, &culprit.Label, message)
		}
	}
}

// culprit returns the object that several broken references mean, if they agree on its name and nothing refers to it.
func (r *Findings) culprit(book *nameBook, group []brokenReference) *Object {
	meant, field := group[0].meant, group[0].Field
	differs := func(other brokenReference) bool { return Fold(other.Field.Text) != Fold(field.Text) }
	if meant == "" || len(group) == 1 || book.used[Fold(meant)] || slices.ContainsFunc(group, differs) {
		return nil
	}
	for o := range r.Model.Known() {
		gives := func(list string) bool { return slices.Contains(book.dictionary.Givers(list), o.Spec) }
		if o.Spec.Label != nil && o.Label.Text == meant && slices.ContainsFunc(field.Spec.Refers, gives) {
			return o
		}
	}
	return nil
}

// breaks notes that a reference leads nowhere, and what it may mean of some names.
func (r *Findings) breaks(book *nameBook, found Finding, names func() []string) {
	said := found.Message + strings.Join(found.Field.Spec.Refers, " ")
	meant, known := book.meant[said]
	if !known && len(book.meant) < r.limits.MaxPerCheck {
		meant = nearestOf(found.Field.Text, names())
		book.meant[said] = meant
	}
	book.broken = append(book.broken, brokenReference{found, meant})
}
