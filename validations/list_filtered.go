package validations

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
)

// MaxScanned bounds how many runs one page scans for a filter that no index answers. The next page resumes where the
// scan has stopped, so paging to the end finds every run.
const MaxScanned = 20_000

// KeyUses reads which runs were started with an idempotency key.
type KeyUses interface {
	// RunsStartedWith returns the runs that were started with a key that is still kept.
	RunsStartedWith(ctx context.Context, orgID uuid.UUID, key string) ([]uuid.UUID, error)
}

// FilteredRuns are the runs of a page, and one more if there is a next page.
type FilteredRuns struct {
	Runs []Run
	// Stopped is the last run scanned for a page that is not full although older runs are left to scan. It is the zero
	// UUID for every other page.
	Stopped uuid.UUID
}

// ListFiltered reads one page of the organization's runs, newest first. It scans at most MaxScanned runs.
func (s *Service) ListFiltered(
	ctx context.Context, keys KeyUses, orgID uuid.UUID, filter RunFilter, cursor core.Cursor,
) (FilteredRuns, error) {
	if filter == filter.indexed() {
		runs, err := s.List(ctx, orgID, filter, cursor)
		return FilteredRuns{Runs: runs}, err
	}
	stop, err := s.lastScanned(ctx, orgID, filter.indexed(), cursor)
	if err != nil {
		return FilteredRuns{}, err
	}
	runs, err := s.listUpTo(ctx, orgID, filter, cursor, stop)
	if err != nil || len(runs) > cursor.Size || stop == uuid.Nil {
		return FilteredRuns{Runs: runs}, err
	}
	page := FilteredRuns{Runs: runs, Stopped: stop}
	if filter.IdempotencyKey != "" && !cursor.Backward {
		err = s.addRunsOfKey(ctx, keys, orgID, filter, cursor, &page)
	}
	return page, err
}

// indexed returns the part of the filter that an index answers. The rest is compared run by run.
func (f RunFilter) indexed() RunFilter {
	narrowed := RunFilter{Workflow: f.Workflow, Since: f.Since, Until: f.Until}
	if f.State != string(StateCompleted) {
		narrowed.State = f.State
	}
	return narrowed
}

// lastScanned returns the last run that a page scans, or the zero UUID if it scans to the end of the list.
func (s *Service) lastScanned(
	ctx context.Context, orgID uuid.UUID, filter RunFilter, cursor core.Cursor,
) (uuid.UUID, error) {
	comparison, order, from := cursor.Window()
	var last Run
	err := narrow(s.ofOrg(ctx, orgID), filter).Select("id").Where("id "+comparison+" ?", from).
		Order("id " + order).Offset(MaxScanned - 1).Take(&last).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("find the last run to scan: %w", err)
	}
	return last.ID, nil
}

// addRunsOfKey adds the runs of a kept key, which an index finds however old they are.
//
// No other run of the key lies between them and the end of the scan: a key is kept longer than its earlier uses.
func (s *Service) addRunsOfKey(
	ctx context.Context, keys KeyUses, orgID uuid.UUID, filter RunFilter, cursor core.Cursor, page *FilteredRuns,
) error {
	ids, err := keys.RunsStartedWith(ctx, orgID, filter.IdempotencyKey)
	if err != nil || len(ids) == 0 {
		return err
	}
	var started []Run
	err = narrow(s.ofOrg(ctx, orgID), filter).Where("id IN ? AND id < ?", ids, page.Stopped).
		Order("id DESC").Limit(cursor.Size + 1 - len(page.Runs)).Find(&started).Error
	if err != nil {
		return fmt.Errorf("list the runs of a key: %w", err)
	}
	if len(started) > 0 {
		page.Runs = append(page.Runs, started...)
		page.Stopped = started[len(started)-1].ID
	}
	if len(page.Runs) > cursor.Size {
		page.Stopped = uuid.Nil
	}
	return nil
}
