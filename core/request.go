package core

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Caller returns the principal of an authenticated route.
func Caller(c echo.Context) (Principal, error) {
	principal, ok := PrincipalFrom(c.Request().Context())
	if !ok {
		return Principal{}, fmt.Errorf("route %s has no authentication", c.Path())
	}
	return principal, nil
}

// View answers an authenticated request.
type View func(c echo.Context, principal Principal) error

// As makes the handler of a view for principals whose role includes the needed one. All others are refused with
// permission_denied before the view runs; the action completes the sentence "Your role may not ...".
func As(needed api.Role, action string, view View) echo.HandlerFunc {
	return func(c echo.Context) error {
		principal, err := Caller(c)
		if err != nil {
			return err
		}
		if err := principal.Require(needed, action); err != nil {
			return err
		}
		return view(c, principal)
	}
}

// Changing is As for what viewers may change, too. A token of an organization that only reads may not: not even what
// belongs to its user alone.
func Changing(action string, view View) echo.HandlerFunc {
	return As(api.RoleViewer, action, func(c echo.Context, principal Principal) error {
		if principal.TokenID != uuid.Nil {
			if err := principal.requireActive(action); err != nil {
				return err
			}
		}
		return view(c, principal)
	})
}

// WithWholeRole refuses tokens that may do less than their user. It guards what reaches beyond the organization of the
// token: such a token neither uses nor ends what its user has elsewhere.
func WithWholeRole(view View) View {
	return func(c echo.Context, principal Principal) error {
		if principal.Narrowed {
			return PermissionDenied("This token has a lower role than its user. " +
				"Use a token with the full role of its user, or the dashboard.")
		}
		return view(c, principal)
	}
}

// ViewOf is a View of the one thing whose id is in the address.
type ViewOf func(c echo.Context, principal Principal, id uuid.UUID) error

// OfID reads the id for the view, as PathID does.
func OfID(what string, view ViewOf) View {
	return func(c echo.Context, principal Principal) error {
		id, err := PathID(c, what)
		if err != nil {
			return err
		}
		return view(c, principal, id)
	}
}

// PathID reads the id in the address. An address without a well-formed one is answered with not_found, which names
// what was asked for.
func PathID(c echo.Context, what string) (uuid.UUID, error) {
	id, ok := ParseID(c.Param("id"))
	if !ok {
		return uuid.Nil, NotFound(what)
	}
	return id, nil
}

// OwnOrganization serves addresses that name an organization to those whose token is for it. For others it is not
// there, whether it exists or not.
func OwnOrganization(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		principal, err := Caller(c)
		if err != nil {
			return err
		}
		if c.Param("org") != principal.OrgSlug {
			return NewError(api.CodeNotFound, "There is no such organization, or your token is for another one.")
		}
		return next(c)
	}
}

// BindQuery reads the query into a struct by its query tags and checks it.
func BindQuery(c echo.Context, check *Validator, query any) error {
	if err := (&echo.DefaultBinder{}).BindQueryParams(c, query); err != nil {
		return NewError(api.CodeInvalidParameter, "A parameter of the query has the wrong type.").Because(err)
	}
	return check.Query(query)
}

// BindForm reads a page's form into a struct by its form tags and checks it. The answer to a broken rule names fields
// as the form does.
func BindForm(c echo.Context, check *Validator, form any) error {
	if err := ReadForm(c); err != nil {
		return err
	}
	if err := (&echo.DefaultBinder{}).BindBody(c, form); err != nil {
		return unreadableForm(err)
	}
	if _, err := ConfirmAfterBody(c.Request().Context()); err != nil {
		return err
	}
	for name, values := range c.Request().Form {
		if !isStorable(name) || !isStorable(strings.Join(values, "")) {
			return InvalidField(api.FieldError{
				Pointer: "/" + strings.ToValidUTF8(name, "?"), Code: "text", Detail: "must be UTF-8 without NUL",
			})
		}
	}
	return check.Form(form)
}

// ReadForm reads a page's form to its end. The binder would also take JSON and XML, which could name members of its
// struct that are no fields of the form.
func ReadForm(c echo.Context) error {
	if c.Request().ContentLength == 0 {
		return nil
	}
	contentType, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	if err != nil || contentType != echo.MIMEApplicationForm && contentType != echo.MIMEMultipartForm {
		return NewError(api.CodeUnsupportedMediaType,
			"A form is sent as "+echo.MIMEApplicationForm+" or "+echo.MIMEMultipartForm+".")
	}
	if _, err := c.FormParams(); err != nil {
		return unreadableForm(err)
	}
	return nil
}

func unreadableForm(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return NewError(api.CodePayloadTooLarge, "The form is too large.").Because(err)
	}
	return InvalidPayload("The form could not be read. Reload the page and send it again.").Because(err)
}

// ClearReadDeadline lets an answer come later than the deadline for reading the request. Without it the server would
// take that deadline for a client that has gone. Call it when the body was read.
func ClearReadDeadline(c echo.Context) {
	// A server without deadlines has none to clear.
	_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{})
}
