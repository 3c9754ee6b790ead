// Command cmd serves the billing service for trials: go run ./core/coretest/billing/cmd -addr 127.0.0.1:9100.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/billing"
	"github.com/simplevalidations/simplevalidations/core/coretest/faults"
)

const (
	readTimeout = 10 * time.Second
	exitFailed  = 1
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9100", "where to listen")
	decline := flag.Bool("decline", false, "decline every charge")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(log, *addr, *decline); err != nil {
		log.Error("the billing service ended", "error", err)
		os.Exit(exitFailed)
	}
}

func run(log *slog.Logger, addr string, decline bool) error {
	secret := os.Getenv("SV_BILLING_SECRET")
	if secret == "" {
		return errors.New("set SV_BILLING_SECRET to the secret that the service signs with")
	}
	service := billing.New(secret)
	if decline {
		service.Usually(billing.Decline)
	}
	service.Watch(func(moment faults.Moment, _ billing.Charge) {
		if moment == faults.Acted {
			charges := service.Charges()
			last := charges[len(charges)-1]
			log.Info("charged", "charges", len(charges), "key", last.Key,
				"org_id", last.OrgID, "declined", last.Declined)
		}
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := &http.Server{Addr: addr, Handler: service, ReadHeaderTimeout: readTimeout}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // It keeps nothing that could be lost.
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
