package validations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/idempotency/admin"
)

// RunFilter selects runs. Empty fields select all.
type RunFilter struct {
	State    string `query:"state" validate:"omitempty,oneof=PENDING RUNNING COMPLETED"`
	Result   string `query:"result" validate:"omitempty,oneof=UNKNOWN PASS FAIL ERROR CANCELED TIMED_OUT"`
	Source   string `query:"source" validate:"omitempty,oneof=API DASHBOARD CLI"`
	Workflow string `query:"workflow" validate:"max=100"`
	// Search is a part of the idempotency key or of the name of the document, whatever the case of its letters.
	Search         string `query:"q" validate:"max=255"`
	IdempotencyKey string `query:"idempotency_key" validate:"max=255"`
	Since          string `query:"since" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
	Until          string `query:"until" validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
}

// idSlack is far more than the time between the creation of a run's id, which begins with a time, and created_at.
const idSlack = time.Minute

// RunDetail is a run with its definition, the results of its steps, and some or all of its findings.
type RunDetail struct {
	Run        Run
	Definition Definition
	Steps      []StepRun
	Findings   []Finding
}

// Detail reads one run of the organization with its definition and steps, without findings.
func (s *Service) Detail(ctx context.Context, orgID, id uuid.UUID) (RunDetail, error) {
	var reads db.Reads
	return s.detail(ctx, queueDetail(&reads, orgID, id), &reads)
}

// detail reads a run that is queued, with whatever else is.
func (s *Service) detail(ctx context.Context, pending *pendingDetail, reads *db.Reads) (RunDetail, error) {
	if err := s.db.Read(ctx, reads); err != nil {
		return RunDetail{}, fmt.Errorf("read run %s: %w", pending.id, err)
	}
	if len(pending.runs) == 0 {
		return RunDetail{}, core.NotFound("run")
	}
	run := pending.runs[0]
	// Steps that were committed after the run was read are left out, so that the run and its steps fit together.
	steps := slices.DeleteFunc(pending.steps, func(step StepRun) bool { return step.Ordinal >= run.RecoveryPoint })
	definition, err := s.Definition(ctx, pending.orgID, Digest(run.DefinitionDigest))
	return RunDetail{Run: run, Definition: definition, Steps: steps}, err
}

// Submission reads a submission of the organization without its document.
func (s *Service) Submission(ctx context.Context, orgID, id uuid.UUID) (Submission, error) {
	submission, err := gorm.G[Submission](s.db.Gorm).
		Select("org_id", "id", "media_type", "filename", "name", "short_description", "size", "sha256").
		Where("org_id = ? AND id = ?", orgID, id).Take(ctx)
	if err != nil {
		return Submission{}, fmt.Errorf("read submission %s: %w", id, err)
	}
	return submission, nil
}

// Find reads one run of the organization.
func (s *Service) Find(ctx context.Context, orgID, id uuid.UUID) (Run, error) {
	run, err := gorm.G[Run](s.db.Gorm).Where("org_id = ? AND id = ?", orgID, id).Take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Run{}, core.NotFound("run")
	}
	if err != nil {
		return Run{}, fmt.Errorf("read run %s: %w", id, err)
	}
	return run, nil
}

// Show renders a run with its steps and the first findings of each, in one round trip to the database.
func (s *Service) Show(ctx context.Context, orgID uuid.UUID, orgSlug string, id uuid.UUID) (api.Run, error) {
	var reads db.Reads
	var findings []Finding
	pending := queueDetail(&reads, orgID, id)
	// They are read after the steps, so none of a step that is shown is missing.
	queueFirstFindings(&reads, orgID, id, &findings)
	detail, err := s.detail(ctx, pending, &reads)
	if err != nil {
		return api.Run{}, err
	}
	body := RenderRun(detail.Run, orgSlug)
	body.Steps = renderSteps(detail.Run, detail.Definition, detail.Steps, findings)
	return body, nil
}

// List reads one page of the organization's runs, newest first, and one more run if there is a next page.
func (s *Service) List(ctx context.Context, orgID uuid.UUID, filter RunFilter, cursor core.Cursor) ([]Run, error) {
	return s.listUpTo(ctx, orgID, filter, cursor, uuid.Nil)
}

// listUpTo is List that stops at the last run. The zero UUID stands for the end of the list.
func (s *Service) listUpTo(
	ctx context.Context, orgID uuid.UUID, filter RunFilter, cursor core.Cursor, last uuid.UUID,
) ([]Run, error) {
	query := cursor.Of(s.selected(ctx, orgID, filter), "id")
	switch {
	case last == uuid.Nil:
	case cursor.Backward:
		query = query.Where("id <= ?", last)
	default:
		query = query.Where("id >= ?", last)
	}
	var runs []Run
	if err := query.Find(&runs).Error; err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs, nil
}

// unfinishedOrg is the organization of a run that has not ended. Unfinished runs are few among all of an organization,
// and nothing but their index leads from this expression to them, so the planner has no other way.
const unfinishedOrg = "CASE WHEN sweep_after IS NOT NULL THEN org_id END = ?"

// workflowOfOrg selects the runs of one workflow. No index answers IS NOT DISTINCT FROM, so the planner cannot take the
// primary key, in which it would read the organization's runs of all workflows.
const workflowOfOrg = "workflow_id = ? AND org_id IS NOT DISTINCT FROM ?"

// selected returns the organization's runs that the filter selects.
func (s *Service) selected(ctx context.Context, orgID uuid.UUID, filter RunFilter) *gorm.DB {
	runs := s.db.Gorm.WithContext(ctx).Model(&Run{})
	workflow, one := core.ParseID(filter.Workflow)
	switch {
	case filter.unfinished():
		runs = runs.Where(unfinishedOrg, orgID)
	case one:
		runs = runs.Where(workflowOfOrg, workflow, orgID)
		filter.Workflow = ""
	default:
		runs = runs.Where("org_id = ?", orgID)
	}
	return narrow(runs, filter)
}

// unfinished reports whether the filter selects nothing but runs that have not ended.
func (f RunFilter) unfinished() bool {
	return f.State == string(api.RunStatePending) || f.State == string(api.RunStateRunning) ||
		f.Result == string(api.RunResultUnknown)
}

// narrow compares what the filter wants run by run, but for the times.
func narrow(query *gorm.DB, filter RunFilter) *gorm.DB {
	for column, value := range map[string]string{
		"state = ?": filter.State, "result = ?": filter.Result, "source = ?": filter.Source,
		"idempotency_key = ?": filter.IdempotencyKey,
	} {
		if value != "" {
			query = query.Where(column, value)
		}
	}
	if filter.Search != "" {
		part := "%" + likeText.Replace(filter.Search) + "%"
		query = query.Where(hasPart, part, part)
	}
	// The tags have validated the texts. Ids begin with the time of their creation, so their bounds let the primary key
	// answer the filter.
	if at, err := time.Parse(time.RFC3339, filter.Since); err == nil {
		query = query.Where("created_at >= ? AND id >= ?", at, core.FirstIDAt(at.Add(-idSlack)))
	}
	if at, err := time.Parse(time.RFC3339, filter.Until); err == nil {
		query = query.Where("created_at < ? AND id < ?", at, core.FirstIDAt(at.Add(idSlack)))
	}
	if filter.Workflow == "" {
		return query
	}
	if id, ok := core.ParseID(filter.Workflow); ok {
		return query.Where("workflow_id IS NOT DISTINCT FROM ?", id)
	}
	return query.Where("workflow_slug = ?", filter.Workflow)
}

// Newest returns the id of the organization's newest run, or the zero UUID if there is none.
func (s *Service) Newest(ctx context.Context, orgID uuid.UUID) (uuid.UUID, error) {
	runs, err := s.List(ctx, orgID, RunFilter{}, core.Cursor{})
	if err != nil || len(runs) == 0 {
		return uuid.Nil, err
	}
	return runs[0].ID, nil
}

// CountNewer counts the runs that the filter selects and that are newer than a run, up to the limit.
func (s *Service) CountNewer(
	ctx context.Context, orgID uuid.UUID, filter RunFilter, than uuid.UUID, limit int,
) (int, error) {
	newer := core.Cursor{ID: than, Backward: true, Size: limit - 1}
	runs, err := s.List(ctx, orgID, filter, newer)
	return len(runs), err
}

// FindAll reads some runs of the organization. Runs that do not exist are not in the map.
func (s *Service) FindAll(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]Run, error) {
	orgs, texts := make([]string, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		orgs[i], texts[i] = orgID.String(), id.String()
	}
	var runs []Run
	err := s.db.Gorm.WithContext(ctx).Model(&Run{}).Joins(`
		JOIN unnest(?::text::uuid[], ?::text::uuid[]) AS asked (org_id, id)
		ON `+db.SameRow("validation_runs.id", "asked.id"),
		"{"+strings.Join(orgs, ",")+"}", "{"+strings.Join(texts, ",")+"}").Find(&runs).Error
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	found := make(map[uuid.UUID]Run, len(runs))
	for _, run := range runs {
		found[run.ID] = run
	}
	return found, nil
}

// ListFiltered reads one page of the organization's runs, newest first. It scans at most core.MaxScanned runs.
func (s *Service) ListFiltered(
	ctx context.Context, keys *admin.Inspector, orgID uuid.UUID, filter RunFilter, cursor core.Cursor,
) (core.Scanned[Run], error) {
	if filter == filter.indexed() {
		runs, err := s.List(ctx, orgID, filter, cursor)
		return core.Scanned[Run]{Found: runs}, err
	}
	stop, err := s.lastScanned(ctx, orgID, filter.indexed(), cursor)
	if err != nil {
		return core.Scanned[Run]{}, err
	}
	runs, err := s.listUpTo(ctx, orgID, filter, cursor, stop)
	if err != nil || len(runs) > cursor.Size || stop == uuid.Nil {
		return core.Scanned[Run]{Found: runs}, err
	}
	page := core.Scanned[Run]{Found: runs, Stopped: stop}
	if filter.IdempotencyKey != "" && !cursor.Backward {
		err = s.addRunsOfKey(ctx, keys, orgID, filter, cursor, &page)
	}
	return page, err
}

// indexed returns the part of the filter that an index answers. The rest is compared run by run.
func (f RunFilter) indexed() RunFilter {
	narrowed := RunFilter{Workflow: f.Workflow, Since: f.Since, Until: f.Until}
	if f.State != string(api.RunStateCompleted) {
		narrowed.State = f.State
	}
	if f.Result == string(api.RunResultUnknown) {
		narrowed.Result = f.Result
	}
	return narrowed
}

// lastScanned returns the last run that a page scans, or the zero UUID if it scans to the end of the list.
func (s *Service) lastScanned(
	ctx context.Context, orgID uuid.UUID, filter RunFilter, cursor core.Cursor,
) (uuid.UUID, error) {
	comparison, order, from := cursor.Window()
	var last Run
	err := s.selected(ctx, orgID, filter).Select("id").Where("id "+comparison+" ?", from).
		Order("id " + order).Offset(core.MaxScanned - 1).Take(&last).Error
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
	ctx context.Context, keys *admin.Inspector, orgID uuid.UUID, filter RunFilter, cursor core.Cursor,
	page *core.Scanned[Run],
) error {
	ids, err := keys.RunsStartedWith(ctx, orgID, filter.IdempotencyKey)
	if err != nil || len(ids) == 0 {
		return err
	}
	var started []Run
	runs := s.db.Gorm.WithContext(ctx).Model(&Run{}).
		Where("org_id = ? AND id IN ? AND id < ?", orgID, ids, page.Stopped)
	err = narrow(runs, filter).Order("id DESC").Limit(cursor.Size + 1 - len(page.Found)).Find(&started).Error
	if err != nil {
		return fmt.Errorf("list the runs of a key: %w", err)
	}
	if len(started) > 0 {
		page.Found = append(page.Found, started...)
		page.Stopped = started[len(started)-1].ID
	}
	if len(page.Found) > cursor.Size {
		page.Stopped = uuid.Nil
	}
	return nil
}

// WorkflowName is the name and the slug of a workflow.
type WorkflowName struct {
	ID   uuid.UUID
	Slug string
	Name string
}
