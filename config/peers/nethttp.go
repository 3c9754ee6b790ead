package main

import (
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// serveHTTP serves what a library makes of POST /orders, and the list.
func serveHTTP(
	address string, list func(reference string) []order, post func(http.ResponseWriter, *http.Request, request),
) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, list(r.URL.Query().Get("reference")), nil)
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		parsed, err := parse(tenant(r.Header.Get("Authorization")), body)
		if err != nil {
			answer(w, 0, nil, err)
			return
		}
		post(w, r, parsed)
	})
	authenticated := func(w http.ResponseWriter, r *http.Request) {
		if tenant(r.Header.Get("Authorization")) == "" {
			answer(w, 0, nil, &refusal{http.StatusUnauthorized, "the token is missing or wrong"})
			return
		}
		mux.ServeHTTP(w, r)
	}
	server := &http.Server{Addr: address, Handler: http.HandlerFunc(authenticated), ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

func answer(w http.ResponseWriter, status int, body any, err error) {
	if err != nil {
		status, body = statusOf(err), &refusal{Message: err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
