// Package browser is for tests alone: it holds pages to the product's bar in a headless Chromium.
//
// CheckPage is the whole bar for one page, and a Tab is for what is particular to a page: its forms, keys and live
// parts. The programs that judge pages, axe-core and html-validate, come from npm in the versions of npm/, are kept in
// the user's cache and are part of neither the repository nor the product. Tests are skipped where Chromium or npm is
// missing; .ci/setup installs both.
package browser
