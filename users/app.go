// Package users owns organizations, users, memberships with their roles, API tokens, authentication
// and the usage counters that hold the quotas.
package users

// App is the app: its service and the views on it.
type App struct {
	service *Service
}

// New makes the app.
func New(service *Service) *App {
	return &App{service: service}
}
