package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// serveNATS publishes each order to a stream, which drops a message whose id it has seen in the last two minutes. A row
// is a message of the stream, and its id the number that the acknowledgement names.
func serveNATS(address, folder string, _ *orders) error {
	ctx := context.Background()
	js, err := startNATS(folder)
	if err != nil {
		return err
	}
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders"}})
	if err != nil {
		return err
	}
	read := func(sequence uint64) (order, error) {
		message, err := stream.GetMsg(ctx, sequence)
		if err != nil {
			return order{}, err
		}
		row := order{}
		err = json.Unmarshal(message.Data, &row)
		row.ID = strconv.FormatUint(sequence, 10)
		return row, err
	}
	list := func(reference string) []order {
		rows := &orders{}
		for sequence := uint64(1); ; sequence++ {
			row, err := read(sequence)
			if err != nil {
				return rows.list(reference)
			}
			rows.rows = append(rows.rows, row)
		}
	}
	return serveHTTP(address, list, func(w http.ResponseWriter, r *http.Request, parsed request) {
		row, err := prepare(parsed)
		if err != nil {
			answer(w, 0, nil, err)
			return
		}
		message, err := json.Marshal(row)
		if err != nil {
			answer(w, 0, nil, err)
			return
		}
		options := []jetstream.PublishOpt{}
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			options = append(options, jetstream.WithMsgID(key))
		}
		acknowledged, err := js.Publish(r.Context(), "orders", message, options...)
		if err == nil {
			row, err = read(acknowledged.Sequence)
		}
		answer(w, http.StatusCreated, row, err)
	})
}

func startNATS(folder string) (jetstream.JetStream, error) {
	broker, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: folder})
	if err != nil {
		return nil, err
	}
	broker.Start()
	if !broker.ReadyForConnections(time.Minute) {
		return nil, errors.New("the broker did not start")
	}
	connection, err := nats.Connect("", nats.InProcessServer(broker))
	if err != nil {
		return nil, err
	}
	return jetstream.New(connection)
}
