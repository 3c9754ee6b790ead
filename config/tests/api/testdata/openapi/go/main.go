// Command generated has a client that was generated from the OpenAPI document start runs, wait for them and find them
// in a list of several pages. It prints the ids of the runs, one a line.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"generated/api"
)

const table = "meter_id,read_at,kwh,quality,tariff\nMTR-1001,2026-03-01T00:00:00Z,34.83,A,night\n"

type client struct {
	*api.ClientWithResponses
}

func main() {
	if err := play(context.Background(), os.Getenv("ADDRESS"), os.Getenv("TOKEN"), os.Getenv("KEY")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(ctx context.Context, address, token, key string) error {
	generated, err := api.NewClientWithResponses(address, api.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	if err != nil {
		return err
	}
	c := client{generated}
	var started []string
	for n := range 3 {
		id, err := c.start(ctx, fmt.Sprintf("%s-%d", key, n))
		if err != nil {
			return err
		}
		started = append(started, id.String())
		if err := c.wait(ctx, id); err != nil {
			return err
		}
	}
	pages, listed, err := c.list(ctx)
	if err != nil {
		return err
	}
	if pages < 2 {
		return fmt.Errorf("the list has %d page", pages)
	}
	for _, id := range started {
		if !slices.Contains(listed, id) {
			return fmt.Errorf("the list lacks run %s", id)
		}
	}
	if err := c.refusal(ctx); err != nil {
		return err
	}
	fmt.Print(strings.Join(started, "\n"))
	return nil
}

func (c client) start(ctx context.Context, key string) (api.RunID, error) {
	got, err := c.StartRunWithBodyWithResponse(ctx, "meter-readings",
		&api.StartRunParams{IdempotencyKey: &key}, "text/csv", strings.NewReader(table))
	if err != nil {
		return api.RunID{}, err
	}
	if got.JSON201 == nil {
		return api.RunID{}, fmt.Errorf("the run was not started: %s", got.Body)
	}
	return got.JSON201.Id, nil
}

func (c client) wait(ctx context.Context, id api.RunID) error {
	for {
		got, err := c.ReadRunWithResponse(ctx, id, nil)
		if err != nil {
			return err
		}
		if got.JSON200 == nil {
			return fmt.Errorf("the run cannot be read: %s", got.Body)
		}
		if got.JSON200.State != api.RunStateCOMPLETED {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if got.JSON200.Result != api.RunResultPASS {
			return fmt.Errorf("the run ended with %s", got.JSON200.Result)
		}
		return nil
	}
}

// list follows `next` over pages of two runs each.
func (c client) list(ctx context.Context) (int, []string, error) {
	size := 2
	query := &api.ListRunsParams{PageSize: &size}
	var ids []string
	for pages := 1; ; pages++ {
		got, err := c.ListRunsWithResponse(ctx, query)
		if err != nil {
			return 0, nil, err
		}
		if got.JSON200 == nil {
			return 0, nil, fmt.Errorf("the runs cannot be listed: %s", got.Body)
		}
		for _, run := range got.JSON200.Results {
			ids = append(ids, run.Id.String())
		}
		if got.JSON200.Next == nil {
			return pages, ids, nil
		}
		next, err := url.Parse(*got.JSON200.Next)
		if err != nil {
			return 0, nil, err
		}
		cursor := next.Query().Get("cursor")
		if cursor == "" {
			return 0, nil, errors.New("the next page has no cursor")
		}
		query.Cursor = &cursor
	}
}

func (c client) refusal(ctx context.Context) error {
	got, err := c.ReadRunWithResponse(ctx, api.RunID{}, nil)
	if err != nil {
		return err
	}
	if got.ApplicationproblemJSON404 == nil || got.ApplicationproblemJSON404.Code != api.ErrorCodeNotFound {
		return fmt.Errorf("the problem cannot be read: %s", got.Body)
	}
	return nil
}
