// Package pages makes the dashboard's pages: the layout that all of them have, the parts that they are made of, the
// style sheet and the script, notices after forms, and errors that people can read.
//
// Pages are rendered on the server and work without the script. An app embeds its templates and parses them with Parse;
// a view renders one with Set.Render. Nothing is loaded from other servers, and the content security policy allows
// neither scripts nor styles inside a page.
package pages
