// Package config puts the product together: it reads the settings, installs the apps, lists the routes of the API and
// of the pages, and starts the server and the workers.
//
// It is the only package that knows all others, and only main imports it. It holds no rule of the product: what a
// route or a task does belongs to its app.
package config
