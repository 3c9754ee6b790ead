// Command echo is a bare handler: it reads a request to its end, checks nothing, and answers with the response that is
// in a file, byte for byte. Nothing that is built on Echo can be faster.
package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"
)

func main() {
	//nolint:forbidigo // This is a main.
	if err := run(os.Getenv("ADDRESS"), os.Getenv("ANSWER")); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func run(address, path string) error {
	file, err := os.Open(path) //nolint:gosec // G304: the file is the caller's choice
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	defer file.Close()
	always, err := http.ReadResponse(bufio.NewReader(file), nil) //nolint:bodyclose // It is that of a file.
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	body, err := io.ReadAll(always.Body)
	if err != nil {
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
		c.Response().WriteHeader(always.StatusCode)
		_, err := c.Response().Write(body)
		return err
	})
	return e.Start(address)
}
