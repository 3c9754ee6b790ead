// Package pages tests the dashboard: what its pages show to whom, what its forms do, and how all of it is in a browser.
package pages
