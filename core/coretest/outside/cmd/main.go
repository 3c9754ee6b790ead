// Command cmd serves one of the services for trials:
//
//	go run ./core/coretest/outside/cmd billing [-decline]
//	go run ./core/coretest/outside/cmd validator [-fail] [-later]
//
// The secret that signs calls is in SV_BILLING_SECRET or SV_SIGNING_SECRET; that of a validator is what
// simplevalidations signing-secret --validator prints.
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

	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
)

const readTimeout = 10 * time.Second

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, log, os.Args[1:])
	stop()
	if err != nil {
		log.Error("the service ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger, args []string) error {
	if len(args) == 0 {
		return errors.New("say billing or validator")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	var addr *string
	var handler http.Handler
	switch args[0] {
	case "billing":
		addr = flags.String("addr", "127.0.0.1:9100", "where to listen")
		handler = billing(log, flags, args[1:])
	case "validator":
		addr = flags.String("addr", "127.0.0.1:9200", "where to listen")
		handler = validator(ctx, log, flags, args[1:])
	default:
		return errors.New("say billing or validator")
	}
	server := &http.Server{Addr: *addr, Handler: handler, ReadHeaderTimeout: readTimeout}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // It keeps nothing that could be lost.
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func billing(log *slog.Logger, flags *flag.FlagSet, args []string) http.Handler {
	decline := flags.Bool("decline", false, "decline every charge")
	_ = flags.Parse(args) // It exits where they are wrong.
	service := outside.NewBilling(secret(log, "SV_BILLING_SECRET"))
	if *decline {
		service.Usually(outside.Decline)
	}
	service.Watch(func(moment outside.Moment, charge outside.Charge) {
		if moment == outside.Acted {
			log.Info("charged", "charges", len(service.Charges()), "key", charge.Key, "org_id", charge.OrgID,
				"declined", charge.Declined)
		}
	})
	return service
}

func validator(ctx context.Context, log *slog.Logger, flags *flag.FlagSet, args []string) http.Handler {
	fail := flags.Bool("fail", false, "find an error in every document")
	later := flags.Bool("later", false, "promise an answer and send it as a callback")
	_ = flags.Parse(args) // It exits where they are wrong.
	key := secret(log, "SV_SIGNING_SECRET")
	service := outside.NewValidator(key)
	if *fail {
		service.Usually(outside.Fail)
	}
	if *later {
		service.Usually(outside.Promise)
	}
	client := &http.Client{Timeout: readTimeout}
	service.Watch(func(moment outside.Moment, request outside.Request) {
		log.InfoContext(ctx, "call", "moment", moment, "key", request.Key, "bytes", request.Size)
		if moment != outside.Answered || !*later {
			return
		}
		status, accepted, err := outside.CallBack(ctx, client, request, outside.AnswerOf(!*fail), key, time.Now())
		log.InfoContext(ctx, "called back", "key", request.Key, "status", status, "accepted", accepted, "error", err)
	})
	return service
}

// secret ends the program where it is missing.
func secret(log *slog.Logger, name string) string {
	value := os.Getenv(name)
	if value == "" {
		log.Error("the secret that signs calls is missing", "variable", name)
		os.Exit(1)
	}
	return value
}
