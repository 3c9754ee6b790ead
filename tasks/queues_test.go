package tasks_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/tasks"
)

func TestQueues(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, start(t))
			queues := tasks.NewQueues(b.client)
			wantQueue(t, queues, tasks.Queue{Name: tasks.QueueJobs})

			list := newJobs(3)
			b.stage(t, list...)
			b.run(t, len(list))
			for _, job := range list[:2] {
				if err := b.inspector.ArchiveTask(tasks.QueueJobs, job.TaskID()); err != nil {
					t.Fatal(err)
				}
			}
			wantQueue(t, queues, tasks.Queue{Name: tasks.QueueJobs, Waiting: 1, Archived: 2})

			archived, err := queues.Archived(10)
			if err != nil || len(archived) != 2 {
				t.Fatalf("archived = %v, %v, want 2 tasks", archived, err)
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
			wantQueue(t, queues, tasks.Queue{Name: tasks.QueueJobs, Waiting: 2})
			if workers, err := queues.Workers(); len(workers) != 0 || err != nil {
				t.Errorf("workers = %v, %v, want none", workers, err)
			}
		})
	}
}

// wantQueue looks at the queue of jobs. How long its oldest task has waited is not compared.
func wantQueue(tb testing.TB, queues *tasks.Queues, want tasks.Queue) {
	tb.Helper()
	all, err := queues.List()
	if err != nil {
		tb.Fatal(err)
	}
	got := all[0]
	got.Oldest = 0
	if got != want {
		tb.Errorf("queue = %+v, want %+v", got, want)
	}
}
