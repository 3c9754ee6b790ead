package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	restatedev "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/ingress"
	"github.com/restatedev/sdk-go/server"
)

// serveRestate calls a handler of the Restate server with the key through that server's ingress. The environment has
// the addresses of the ingress, of the administration, and of the handler.
func serveRestate(address, _ string, orders *orders) error {
	create := func(ctx restatedev.Context, parsed request) (order, error) {
		return restatedev.Run(ctx, func(restatedev.RunContext) (order, error) {
			row, err := orders.create(parsed)
			if refused, ok := errors.AsType[*refusal](err); ok {
				return order{}, restatedev.ToTerminalError(err, restatedev.WithErrorCode(restatedev.Code(refused.Status)))
			}
			return row, err
		})
	}
	service := restatedev.NewService("Orders").Handler("Create", restatedev.NewServiceHandler(create))
	failed := make(chan error)
	go func() {
		endpoint := server.NewRestate().Bind(service)
		failed <- endpoint.Start(context.Background(), os.Getenv("RESTATE_SERVICE"))
	}()
	client := ingress.NewClient(os.Getenv("RESTATE_INGRESS"))
	requester := ingress.Service[request, order](client, "Orders", "Create")
	go func() {
		if err := register(os.Getenv("RESTATE_ADMIN"), "http://"+os.Getenv("RESTATE_SERVICE")); err != nil {
			failed <- err
			return
		}
		failed <- serveHTTP(address, orders.list, func(w http.ResponseWriter, r *http.Request, parsed request) {
			options := []ingress.RequestOption{}
			if key := r.Header.Get("Idempotency-Key"); key != "" {
				options = append(options, restatedev.WithIdempotencyKey(key))
			}
			row, err := requester.Request(r.Context(), parsed, options...)
			if refused, ok := errors.AsType[ingress.Error](err); ok {
				err = &refusal{int(refused.Code()), refused.Error()}
			}
			answer(w, http.StatusCreated, row, err)
		})
	}()
	return <-failed
}

// register tells the Restate server where its handler is, as soon as both have started.
func register(admin, service string) error {
	for range 300 {
		time.Sleep(100 * time.Millisecond)
		response, err := http.Post(admin+"/deployments", "application/json", strings.NewReader(`{"uri":"`+service+`"}`))
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode < http.StatusBadRequest {
			return nil
		}
	}
	return errors.New("the Restate server did not find its handler")
}
