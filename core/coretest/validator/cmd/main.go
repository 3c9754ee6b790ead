// Command cmd serves the validator for trials: go run ./core/coretest/validator/cmd -addr 127.0.0.1:9200.
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

	"github.com/simplevalidations/simplevalidations/core/coretest/faults"
	"github.com/simplevalidations/simplevalidations/core/coretest/validator"
)

const (
	readTimeout = 10 * time.Second
	exitFailed  = 1
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9200", "where to listen")
	fail := flag.Bool("fail", false, "find an error in every document")
	later := flag.Bool("later", false, "promise an answer and send it as a callback")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(log, *addr, *fail, *later); err != nil {
		log.Error("the validator ended", "error", err)
		os.Exit(exitFailed)
	}
}

func run(log *slog.Logger, addr string, fail, later bool) error {
	secret := os.Getenv("SV_SIGNING_SECRET")
	if secret == "" {
		return errors.New("set SV_SIGNING_SECRET to what simplevalidations signing-secret show --validator prints")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	service := validator.New(secret)
	if fail {
		service.Usually(validator.Fail)
	}
	if later {
		service.Usually(validator.Promise)
	}
	client := &http.Client{Timeout: readTimeout}
	service.Watch(func(moment faults.Moment, request validator.Request) {
		log.Info("call", "moment", moment, "key", request.Key, "bytes", request.Size)
		if moment != faults.Answered || !later {
			return
		}
		status, accepted, err := validator.CallBack(ctx, client, request, validator.AnswerOf(!fail), secret, time.Now())
		log.Info("called back", "key", request.Key, "status", status, "accepted", accepted, "error", err)
	})
	server := &http.Server{Addr: addr, Handler: service, ReadHeaderTimeout: readTimeout}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // It keeps nothing that could be lost.
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
