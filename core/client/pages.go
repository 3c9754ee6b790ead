package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Pages is a list that the service answers page by page. Nothing is read before it is asked for.
type Pages[T any] struct {
	// PageSize is how many items a page has, 200 at most. It is 100 unless it is set.
	PageSize int

	client *Client
	path   string
	query  url.Values
	// whole says that the list has one page.
	whole bool
}

func pagesOf[T any](c *Client, path string, paged bool, filter map[string]any) Pages[T] {
	return Pages[T]{client: c, path: path, query: queryOf(filter), PageSize: 100, whole: !paged}
}

// All iterates over the items of all pages, and reads a page when it is needed. The first error ends it.
func (p Pages[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := api.Optional(""); ; {
			page, err := p.Page(ctx, next)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Results {
				if !yield(item, nil) {
					return
				}
			}
			if next = page.Next; next == "" {
				return
			}
		}
	}
}

// Page reads one page: that of an address in another page, or the first one if the address is empty.
func (p Pages[T]) Page(ctx context.Context, address api.Optional) (api.Page[T], error) {
	r := request{method: http.MethodGet, path: string(address)}
	if address == "" {
		r.path, r.query = p.path, p.query
		if !p.whole {
			r.query.Set("page_size", strconv.Itoa(p.PageSize))
		}
	}
	return do[api.Page[T]](ctx, p.client, r)
}

// queryOf makes a query of what is not zero.
func queryOf(filter map[string]any) url.Values {
	query := make(url.Values)
	for name, value := range filter {
		text := fmt.Sprint(value)
		if at, ok := value.(time.Time); ok {
			text = ""
			if !at.IsZero() {
				text = at.UTC().Format(time.RFC3339Nano)
			}
		}
		if text != "" && text != "0" {
			query.Set(name, text)
		}
	}
	return query
}
