package webhooks_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// A webhook gets the events of its types and of its workflow, and the test of its own.
func TestWhatAWebhookWants(t *testing.T) {
	t.Parallel()
	mine, other := uuid.New(), uuid.New()
	first, second := uuid.New(), uuid.New()
	const ofAll, ofTypes = `UPDATE webhooks SET description = 'all'`,
		`UPDATE webhooks SET event_types = '{run.completed}'`
	ofWorkflow := `UPDATE webhooks SET workflow_id = '` + first.String() + `'`
	for name, tt := range map[string]struct {
		webhook, event string
		workflow       *uuid.UUID
		about          uuid.UUID
		want           int
	}{
		"OfItsTypes":        {ofTypes, "run.completed", nil, other, 1},
		"NotOfOtherTypes":   {ofTypes, "run.canceled", nil, other, 0},
		"OfItsWorkflow":     {ofWorkflow, "run.completed", &first, other, 1},
		"NotOfOtherOnes":    {ofWorkflow, "run.completed", &second, other, 0},
		"NotOfNoWorkflow":   {ofWorkflow, "quota.exceeded", nil, other, 0},
		"ItsTest":           {ofTypes, "webhook.test", nil, mine, 1},
		"NotTheTestOfOther": {ofAll, "webhook.test", nil, other, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCourt(t)
			org := c.webhook(t, answering(t).URL)
			c.exec(t, `ALTER TABLE webhooks DROP CONSTRAINT fk_webhooks_workflow`)
			c.exec(t, `UPDATE webhooks SET id = $1`, mine)
			c.exec(t, tt.webhook)
			c.exec(t, `INSERT INTO events (org_id, type, workflow_id, data)
				VALUES ($1, $2, $3, json_build_object('webhook', $4::uuid)::text)`,
				org, tt.event, tt.workflow, tt.about)
			if _, err := c.publisher.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := coretest.One[int](t, c.db, `SELECT count(*) FROM webhook_deliveries`); got != tt.want {
				t.Errorf("deliveries = %d, want %d", got, tt.want)
			}
		})
	}
}

// What is sent again has all its tries, and ends where it was asked to end.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	c := newCourt(t)
	org := c.webhook(t, answering(t, 500).URL)
	for range 2 {
		c.happen(t, org, 1)
		c.turn(t)
	}
	c.exec(t, `UPDATE webhooks SET resend_after = 0, resend_until = (SELECT min(position) FROM events)`)
	c.turn(t)
	coretest.WantRow(t, c.db, coretest.Row{"again": "1 2 true", "left": "1 1 true"}, `
		SELECT min(said) FILTER (WHERE place = 1) AS again, min(said) FILTER (WHERE place = 2) AS left FROM (
			SELECT row_number() OVER (ORDER BY position) AS place,
				concat_ws(' ', tries, attempts, delivered::text) AS said FROM webhook_deliveries) AS d`)
}
