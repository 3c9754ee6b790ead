package tasks_test

import (
	"testing"

	"github.com/hibiken/asynq"

	"github.com/simplevalidations/simplevalidations/tasks"
)

func TestQueues(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, start(t))
			queues := tasks.NewQueues(b.client)
			list := newJobs(3)
			b.stage(t, list...)
			b.run(t, len(list))
			for _, job := range list[:2] {
				if err := b.inspector.ArchiveTask(tasks.QueueJobs, job.TaskID()); err != nil {
					t.Fatal(err)
				}
			}
			archived, err := queues.Archived(10)
			if err != nil || len(archived) != 2 {
				t.Fatalf("archived = %v, %v, want 2 tasks", archived, err)
			}
			if n, err := tasks.CountArchived(t.Context(), b.client); n != 2 || err != nil {
				t.Errorf("count of archived tasks = %d, %v, want 2", n, err)
			}
			if org, ok := tasks.OrganizationOf(archived[0].ID); !ok || org != list[0].OrgID && org != list[1].OrgID {
				t.Errorf("organization of %s = %s, %v", archived[0].ID, org, ok)
			}
			if err := queues.Retry(tasks.QueueJobs, archived[0].ID); err != nil {
				t.Error(err)
			}
			if err := queues.Discard(tasks.QueueJobs, archived[1].ID); err != nil {
				t.Error(err)
			}
			if err := queues.Discard(tasks.QueueJobs, archived[1].ID); err == nil {
				t.Error("a task that is gone was discarded")
			}
			if left, err := queues.Archived(10); len(left) != 0 || err != nil {
				t.Errorf("archived = %v, %v, want none", left, err)
			}
			if task, err := b.inspector.GetTaskInfo(tasks.QueueJobs, archived[0].ID); err != nil ||
				task.State != asynq.TaskStatePending {
				t.Errorf("the task that is retried: %v, %v, want it pending", task, err)
			}
		})
	}
}
