package main

import (
	"context"
	"encoding/gob"
	"net/http"
	"path/filepath"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // the driver of the addresses that start with sqlite:
)

// serveDBOS runs the handler as a workflow, whose ID is the tenant and the key, because the documentation says that IDs
// have to be unique in an application. The row's creation is its step.
func serveDBOS(address, folder string, orders *orders) error {
	gob.Register(&refusal{})
	system, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: "orders", DatabaseURL: "sqlite:" + filepath.Join(folder, "dbos.db"),
	})
	if err != nil {
		return err
	}
	workflow := func(ctx dbos.Context, parsed request) (order, error) {
		return dbos.RunAsStep(ctx, func(context.Context) (order, error) { return orders.create(parsed) })
	}
	dbos.RegisterWorkflow(system, workflow)
	if err := dbos.Launch(system); err != nil {
		return err
	}
	return serveHTTP(address, orders.list, func(w http.ResponseWriter, r *http.Request, parsed request) {
		options := []dbos.WorkflowOption{}
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			options = append(options, dbos.WithWorkflowID(parsed.Tenant+"/"+key))
		}
		run, err := dbos.RunWorkflow(system, workflow, parsed, options...)
		if err != nil {
			answer(w, 0, nil, err)
			return
		}
		row, err := run.GetResult()
		answer(w, http.StatusCreated, row, err)
	})
}
