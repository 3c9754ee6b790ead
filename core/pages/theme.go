package pages

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

const (
	themeCookie = "sv_theme"
	// shortcutCookie is set where "/" is a key like any other: people who dictate to the computer may say it by
	// accident.
	shortcutCookie = "sv_shortcut"
	choiceLife     = 365 * 24 * time.Hour
)

// theme is what the visitor has chosen: light, dark, or "" for what the system has.
func theme(c echo.Context) string {
	switch chosen := Cookie(c, themeCookie); chosen {
	case "light", "dark":
		return chosen
	default:
		return ""
	}
}

// setTheme is POST /app/theme/.
func setTheme(c echo.Context) error {
	chosen := c.FormValue("theme")
	life := choiceLife
	switch chosen {
	case "light", "dark":
	case "system":
		life = 0
	default:
		return core.InvalidParameter("theme", "must be one of light, dark, system")
	}
	SetCookie(c, themeCookie, chosen, life)
	return c.Redirect(http.StatusSeeOther, Inside(c.FormValue("back")))
}

// hasShortcut reports whether "/" leads to the search box.
func hasShortcut(c echo.Context) bool {
	return Cookie(c, shortcutCookie) != "off"
}

// setShortcut is POST /app/shortcut/.
func setShortcut(c echo.Context) error {
	notice := "Press / to go to the search box."
	switch chosen := c.FormValue("shortcut"); chosen {
	case "on":
		SetCookie(c, shortcutCookie, "", 0)
	case "off":
		SetCookie(c, shortcutCookie, chosen, choiceLife)
		notice = "The / key is off."
	default:
		return core.InvalidParameter("shortcut", "must be one of on, off")
	}
	return Redirect(c, Root+"account/", notice)
}

// Inside returns the address when it is a page of the dashboard, and Root for any other: otherwise a link that an
// attacker has written could decide where a form leads.
func Inside(address string) string {
	if strings.HasPrefix(address, Root) && !strings.ContainsAny(address, "\\\r\n") {
		return address
	}
	return Root
}
