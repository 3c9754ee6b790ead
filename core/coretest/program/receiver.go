package program

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// Reachable lets an installation call services on this machine.
const Reachable = "SV_EXTERNAL_ALLOW=127.0.0.0/8"

// Listen starts a receiver that harbour's webhook tells of the ends of all runs from now on. The installation has to be
// Reachable.
func (i *Installation) Listen(tb testing.TB, base string) *outside.Receiver {
	tb.Helper()
	// The address is there before the secret.
	listener := httptest.NewUnstartedServer(nil)
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, base+"/api/webhooks/", strings.NewReader(
		`{"url":"http://`+listener.Listener.Addr().String()+`","event_types":["run.completed","run.canceled"]}`))
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := NewClient(tb, i.Harbour.Tokens.Owner).Do(request)
	if err != nil || !answer.Created() {
		tb.Fatalf("webhook: %v, %d %s", err, answer.Status, answer.Body)
	}
	var made api.WebhookSecret
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		tb.Fatal(err)
	}
	receiver, err := outside.NewReceiver(made.Secret)
	if err != nil {
		tb.Fatal(err)
	}
	listener.Config.Handler = receiver
	listener.Start()
	tb.Cleanup(listener.Close)
	return receiver
}

// CheckTold waits until nothing is left to deliver. It wants the receiver to have been told of each completed run, by
// one event however often that came, and of no other run.
func CheckTold(tb testing.TB, database *db.DB, receiver *outside.Receiver) {
	tb.Helper()
	AwaitRest(tb, database)
	rows, err := database.Pool.Query(tb.Context(), `SELECT id::text FROM validation_runs
		WHERE state = 'COMPLETED' AND org_id = (SELECT org_id FROM webhooks)`)
	if err != nil {
		tb.Fatal(err)
	}
	completed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatal(err)
	}
	told, again := receiver.Told(), 0
	for _, run := range completed {
		if events := told[run]; len(events) != 1 {
			tb.Errorf("run %s was told of by the events %v, want one", run, events)
		}
		for _, times := range told[run] {
			again += times - 1
		}
		delete(told, run)
	}
	if len(told) != 0 || receiver.Refused() != 0 {
		tb.Errorf("told of %v, which are not completed, with %d requests refused", told, receiver.Refused())
	}
	tb.Logf("%d runs were told of, %d events came again", len(completed), again)
}
