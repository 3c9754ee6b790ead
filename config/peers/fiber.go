package main

import (
	"errors"

	fiber2 "github.com/gofiber/fiber/v2"
	idempotency2 "github.com/gofiber/fiber/v2/middleware/idempotency"
	fiber3 "github.com/gofiber/fiber/v3"
	idempotency3 "github.com/gofiber/fiber/v3/middleware/idempotency"
)

// serveFiber3 uses the default configuration, as its documentation does: in memory, for 30 minutes. Errors are returned
// to the framework, as its guide to error handling says.
func serveFiber3(address, _ string, orders *orders) error {
	app := fiber3.New()
	app.Use(func(c fiber3.Ctx) error {
		if tenant(c.Get("Authorization")) == "" {
			return fiber3.ErrUnauthorized
		}
		return c.Next()
	})
	app.Use(idempotency3.New())
	app.Post("/orders", func(c fiber3.Ctx) error {
		parsed, err := parse(tenant(c.Get("Authorization")), c.Body())
		if err != nil {
			return fiber3.NewError(statusOf(err), err.Error())
		}
		row, err := orders.create(parsed)
		if err != nil {
			return fiber3.NewError(statusOf(err), err.Error())
		}
		return c.Status(fiber3.StatusCreated).JSON(row)
	})
	app.Get("/orders", func(c fiber3.Ctx) error { return c.JSON(orders.list(c.Query("reference"))) })
	return app.Listen(address, fiber3.ListenConfig{DisableStartupMessage: true})
}

// serveFiber2 is the same with the version before.
func serveFiber2(address, _ string, orders *orders) error {
	app := fiber2.New(fiber2.Config{DisableStartupMessage: true})
	app.Use(func(c *fiber2.Ctx) error {
		if tenant(c.Get("Authorization")) == "" {
			return fiber2.ErrUnauthorized
		}
		return c.Next()
	})
	app.Use(idempotency2.New())
	app.Post("/orders", func(c *fiber2.Ctx) error {
		parsed, err := parse(tenant(c.Get("Authorization")), c.Body())
		if err != nil {
			return fiber2.NewError(statusOf(err), err.Error())
		}
		row, err := orders.create(parsed)
		if err != nil {
			return fiber2.NewError(statusOf(err), err.Error())
		}
		return c.Status(fiber2.StatusCreated).JSON(row)
	})
	app.Get("/orders", func(c *fiber2.Ctx) error { return c.JSON(orders.list(c.Query("reference"))) })
	return app.Listen(address)
}

func statusOf(err error) int {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.Status
	}
	return fiber3.StatusInternalServerError
}
