// Command generated starts a run with a client that was generated from the OpenAPI document, and prints the run's id.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"generated/api"
)

const table = "meter_id,read_at,kwh,quality,tariff\nMTR-1001,2026-03-01T00:00:00Z,34.83,A,night\n"

func main() {
	if err := start(context.Background(), os.Getenv("ADDRESS"), os.Getenv("TOKEN"), os.Getenv("KEY")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(ctx context.Context, address, token, key string) error {
	client, err := api.NewClientWithResponses(address, api.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	if err != nil {
		return err
	}
	started, err := client.StartRunWithBodyWithResponse(ctx, "meter-readings",
		&api.StartRunParams{IdempotencyKey: &key}, "text/csv", strings.NewReader(table))
	if err != nil {
		return err
	}
	if started.JSON201 == nil {
		return fmt.Errorf("the run was not started: %s", started.Body)
	}
	read, err := client.ReadRunWithResponse(ctx, started.JSON201.Id, nil)
	if err != nil {
		return err
	}
	if read.JSON200 == nil || read.JSON200.State != api.RunStatePENDING {
		return fmt.Errorf("the run cannot be read: %s", read.Body)
	}
	refused, err := client.ReadRunWithResponse(ctx, api.RunID{}, nil)
	if err != nil {
		return err
	}
	if refused.ApplicationproblemJSON404 == nil || refused.ApplicationproblemJSON404.Code != api.ErrorCodeNotFound {
		return fmt.Errorf("the problem cannot be read: %s", refused.Body)
	}
	fmt.Print(started.JSON201.Id)
	return nil
}
