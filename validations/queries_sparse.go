package validations

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
)

// maxLookedAt bounds how many runs are looked through for those that pass a filter without an index. The next page
// goes on where this one has stopped, so that in the end all are found.
const maxLookedAt = 20_000

// foundRuns are the runs of a page and one more.
type foundRuns struct {
	runs []Run
	// stopped is where the page ends without being full though there are more runs behind it to be looked at; the zero
	// UUID where it does not.
	stopped uuid.UUID
}

// indexed is what an index answers of the filter. What else it asks for has to be looked for run by run.
func (f RunFilter) indexed() RunFilter {
	narrowed := RunFilter{Workflow: f.Workflow, Since: f.Since, Until: f.Until}
	if f.State != string(StateCompleted) {
		narrowed.State = f.State
	}
	return narrowed
}

// find reads one page of the organization's runs, newest first, and one run more.
func (a *App) find(ctx context.Context, orgID uuid.UUID, filter RunFilter, cursor core.Cursor) (foundRuns, error) {
	if filter == filter.indexed() {
		runs, err := a.service.List(ctx, orgID, filter, cursor)
		return foundRuns{runs: runs}, err
	}
	stop, err := a.service.lastLookedAt(ctx, orgID, filter.indexed(), cursor)
	if err != nil {
		return foundRuns{}, err
	}
	runs, err := a.service.listUpTo(ctx, orgID, filter, cursor, stop)
	if err != nil || len(runs) > cursor.Size || stop == uuid.Nil {
		return foundRuns{runs: runs}, err
	}
	found := foundRuns{runs: runs, stopped: stop}
	if filter.IdempotencyKey != "" && !cursor.Backward {
		err = a.addKept(ctx, orgID, filter, cursor, &found)
	}
	return found, err
}

// addKept adds the runs of keys that are still kept, which an index finds however old they are. Between them and where
// the page has stopped there are no others: a key is kept longer than those of its uses before.
func (a *App) addKept(
	ctx context.Context, orgID uuid.UUID, filter RunFilter, cursor core.Cursor, found *foundRuns,
) error {
	ids, err := a.others.Keys.RunsStartedWith(ctx, orgID, filter.IdempotencyKey)
	if err != nil || len(ids) == 0 {
		return err
	}
	var kept []Run
	err = narrow(a.service.ofOrg(ctx, orgID), filter).Where("id IN ? AND id < ?", ids, found.stopped).
		Order("id DESC").Limit(cursor.Size + 1 - len(found.runs)).Find(&kept).Error
	if err != nil {
		return fmt.Errorf("list the runs of a key: %w", err)
	}
	if len(kept) > 0 {
		found.runs = append(found.runs, kept...)
		found.stopped = kept[len(kept)-1].ID
	}
	if len(found.runs) > cursor.Size {
		found.stopped = uuid.Nil
	}
	return nil
}

// lastLookedAt returns the last run that is looked at for a page; the zero UUID where all are.
func (s *Service) lastLookedAt(
	ctx context.Context, orgID uuid.UUID, filter RunFilter, cursor core.Cursor,
) (uuid.UUID, error) {
	comparison, order, from := cursor.Window()
	var last Run
	err := narrow(s.ofOrg(ctx, orgID), filter).Select("id").Where("id "+comparison+" ?", from).
		Order("id " + order).Offset(maxLookedAt - 1).Take(&last).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("look how far runs are looked at: %w", err)
	}
	return last.ID, nil
}
