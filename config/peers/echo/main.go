// Command echo is a bare handler: it reads a request to its end, checks nothing, and answers with the same bytes each
// time. Nothing that is built on Echo can be faster.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"
)

type answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

func main() {
	address := flag.String("address", "", "where to listen")
	file := flag.String("answer", "", "file with the answer")
	flag.Parse()
	if err := run(*address, *file); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func run(address, file string) error {
	text, err := os.ReadFile(file) //nolint:gosec // G304: the file is the caller's choice
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	var always answer
	if err := json.Unmarshal(text, &always); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.GET("/livez/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.POST("/api/workflows/:id/start/", func(c echo.Context) error {
		if _, err := io.ReadAll(c.Request().Body); err != nil {
			return err
		}
		maps.Copy(c.Response().Header(), always.Header)
		c.Response().WriteHeader(always.Status)
		_, err := c.Response().Write(always.Body)
		return err
	})
	return e.Start(address)
}
