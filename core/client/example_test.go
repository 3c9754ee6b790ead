package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/client/clienttest"
)

// Start a run and wait for what it finds.
func Example() {
	server := clienttest.New()
	defer server.Close()

	c, err := client.New(server.URL(), client.WithToken("svt_..."))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	started, err := c.Start(ctx, client.StartRequest{
		Workflow: "meter-readings", Filename: "readings.csv", MediaType: "text/csv",
		Content: strings.NewReader("meter_id,kwh\nMTR-1001,34.83\n"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := c.Wait(ctx, started.Run.ID, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Result)
	// Output: PASS
}

// An answer gets lost, and the second attempt gets the run that the first one has started.
func ExampleClient_Start_lostAnswer() {
	server := clienttest.New()
	defer server.Close()
	server.DropResponses(1)

	c, err := client.New(server.URL())
	if err != nil {
		fmt.Println(err)
		return
	}
	started, err := c.Start(context.Background(), client.StartRequest{
		Workflow: "meter-readings", Key: "invoice-4711", Content: strings.NewReader("a,b\n"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(started.Attempts, "attempts,", len(server.Runs()), "run, replayed:", started.Replayed)
	// Output: 2 attempts, 1 run, replayed: true
}

// The errors of a start say what to do next.
func ExampleUnknownOutcomeError() {
	server := clienttest.New()
	defer server.Close()
	server.DropResponses(1)

	retries := client.DefaultRetries()
	retries.Attempts = 1
	c, err := client.New(server.URL(), client.WithRetries(retries))
	if err != nil {
		fmt.Println(err)
		return
	}
	order := func() error {
		_, err := c.Start(context.Background(), client.StartRequest{
			Workflow: "meter-readings", Key: "invoice-4711", Content: strings.NewReader("a,b\n"),
		})
		return err
	}
	err = order()
	if unknown, ok := errors.AsType[*client.UnknownOutcomeError](err); ok {
		fmt.Println("a run may exist, repeat with", unknown.Key)
		err = order()
	}
	fmt.Println(err, len(server.Runs()))
	// Output:
	// a run may exist, repeat with invoice-4711
	// <nil> 1
}

// Refusals compare to their codes.
func ExampleError() {
	server := clienttest.New()
	defer server.Close()
	server.Quota(0)

	c, err := client.New(server.URL())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.Start(context.Background(), client.StartRequest{
		Workflow: "meter-readings", Content: strings.NewReader("a,b\n"),
	})
	fmt.Println(errors.Is(err, api.CodeQuotaExceeded))
	// Output: true
}

// Lists are read page by page while they are gone through.
func ExampleClient_Runs() {
	server := clienttest.New()
	defer server.Close()

	c, err := client.New(server.URL())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for run, err := range c.Runs(client.RunFilter{Workflow: "meter-readings", Result: api.RunResultFail}).All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(run.ID)
	}
	// Output:
}
