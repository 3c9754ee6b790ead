package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
)

func TestPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		c := made(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.RequestURI())
			fmt.Fprint(w, `{"next": "/api/tokens/?cursor=2", "previous": null, "results": [{"id": "1"}]}`)
		})))
		tokens := c.Tokens(client.TokenFilter{State: api.TokenStateActive})
		tokens.PageSize = 1
		page, err := tokens.Page(t.Context(), "")
		if err != nil || len(page.Results) != 1 || page.Next == "" || page.Previous != "" {
			t.Errorf("page = %+v and error %v, want one token and a next page", page, err)
		}
		if _, err := tokens.Page(t.Context(), page.Next); err != nil {
			t.Error(err)
		}
		if _, err := c.OwnInvitations().Page(t.Context(), ""); err != nil {
			t.Error(err)
		}
		const want = "[/api/tokens/?page_size=1&state=active /api/tokens/?cursor=2 /api/invitations/?page_size=100]"
		if got := fmt.Sprint(asked); got != want {
			t.Errorf("requests = %s, want %s", got, want)
		}
	})
}

func TestSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &script{answers: []http.HandlerFunc{lost}}
		c := made(t, serve(t, service))
		_, err := c.Send(t.Context(), http.MethodPost, "/api/tokens/", nil, []byte("{}"))
		if unknown, ok := errors.AsType[*client.UnknownOutcomeError](err); !ok || unknown.Attempts != 1 {
			t.Errorf("error = %v, want an unknown outcome after one attempt", err)
		}
		_, err = c.Send(t.Context(), http.MethodPost, "/api/members/", http.Header{"Idempotency-Key": {"k"}}, nil)
		unknown, ok := errors.AsType[*client.UnknownOutcomeError](err)
		if !ok || unknown.Key != "k" || unknown.Attempts != 4 {
			t.Errorf("error = %v, want an unknown outcome of the key after four attempts", err)
		}
		retries := client.DefaultRetries()
		retries.Attempts = 2
		if _, err := c.With(client.WithRetries(retries)).Me(t.Context()); err == nil {
			t.Error("error = nil, want that nobody answers")
		}
		if got := service.requests(); got != 1+4+2 {
			t.Errorf("requests = %d, want 7", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := made(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			fmt.Fprint(w, `{}`)
		})))
		got, err := c.Send(t.Context(), http.MethodGet, "/api/me/", nil, nil)
		if err != nil || got.Header.Get("ETag") != `"1"` || string(got.Content) != "{}" || got.Attempts != 1 {
			t.Errorf("answer = %+v and error %v, want it as it came", got, err)
		}
	})
}

func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := made(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Header.Get("Last-Event-ID") {
			case "":
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "id: 1\nevent: run.created\ndata: {}\n\nid: 2\nevent: run.completed\ndata: {}\n\n")
			case "2":
				w.WriteHeader(http.StatusNoContent)
			default:
				refuses(api.CodeNotFound, http.StatusNotFound, false, "")(w, r)
			}
		})))
		var told []string
		for event, err := range c.Events(t.Context(), runID, "") {
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, event.ID+event.Name)
		}
		if strings.Join(told, " ") != "1run.created 2run.completed" {
			t.Errorf("events = %s, want both", told)
		}
		for event, err := range c.Events(t.Context(), runID, "2") {
			t.Errorf("event = %+v and error %v, want none behind the last", event, err)
		}
		for _, err := range c.Events(t.Context(), "other", "1") {
			if !errors.Is(err, api.CodeNotFound) {
				t.Errorf("error = %v, want the refusal", err)
			}
		}
		for _, err := range c.Events(t.Context(), runID, "") {
			if err != nil {
				t.Error(err)
			}
			break
		}
	})
}

func TestCallBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := client.Call{Receipt: "r-1", Run: runID, Secret: "secret"}
		c := made(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			content, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			subject := core.Subject{Direction: core.DirectionCallback, Receipt: call.Receipt, Run: call.Run}
			signer := core.NewSigner(subject, time.Now(), []byte(call.Secret))
			_, _ = signer.Write(content) // It never fails.
			if got, want := r.Header.Get(core.HeaderSignature), signer.Header(); got != want {
				t.Errorf("signature = %s, want %s", got, want)
			}
			_ = json.NewEncoder(w).Encode(api.CallbackReceipt{Accepted: true}) // The test sees what is missing.
		})))
		receipt, err := c.CallBack(t.Context(), call, api.ValidatorAnswer{Result: "PASS"})
		if err != nil || !receipt.Accepted {
			t.Errorf("receipt = %+v and error %v, want that it was accepted", receipt, err)
		}
	})
}
