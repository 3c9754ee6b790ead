package browser

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Request is what a page asked for.
type Request struct {
	Method, URL string
	// Type is "Document", "Stylesheet", "Script", "EventSource" and so on.
	Type   string
	Status int
	// Bytes is the length of the answer's body before any compression.
	Bytes int64

	id     network.RequestID
	header map[string]string
}

// traffic is what a tab asked for and complained about since its last Go. It is written by the goroutine that reads the
// browser's messages.
type traffic struct {
	mutex      sync.Mutex
	requests   []*Request
	complaints []string
}

func (t *traffic) reset() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.requests, t.complaints = nil, nil
}

func (t *traffic) note(event any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		t.requests = append(t.requests, &Request{
			Method: e.Request.Method, URL: e.Request.URL, Type: string(e.Type), id: e.RequestID,
		})
	case *network.EventResponseReceived:
		if request := t.find(e.RequestID); request != nil {
			request.Status = int(e.Response.Status)
			request.header = headerOf(e.Response.Headers)
		}
	case *network.EventDataReceived:
		if request := t.find(e.RequestID); request != nil {
			request.Bytes += e.DataLength
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			t.complaints = append(t.complaints, fmt.Sprintf("%s %s", e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		t.complaints = append(t.complaints, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			t.complaints = append(t.complaints, said(e.Args))
		}
	}
}

// find returns the latest request of an id, which redirects keep.
func (t *traffic) find(id network.RequestID) *Request {
	for _, request := range slices.Backward(t.requests) {
		if request.id == id {
			return request
		}
	}
	return nil
}

func headerOf(headers network.Headers) map[string]string {
	found := make(map[string]string, len(headers))
	for name, value := range headers {
		found[strings.ToLower(name)] = fmt.Sprint(value)
	}
	return found
}

func said(args []*runtime.RemoteObject) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = string(arg.Value)
		if arg.Value == nil {
			words[i] = arg.Description
		}
	}
	return strings.Join(words, " ")
}

// Requests lists what the page asked for since the last Go, itself included.
func (t *Tab) Requests() []Request {
	t.traffic.mutex.Lock()
	defer t.traffic.mutex.Unlock()
	requests := make([]Request, len(t.traffic.requests))
	for i, request := range t.traffic.requests {
		requests[i] = *request
	}
	return requests
}

// Complaints lists the errors and warnings of the console since the last Go: scripts that failed, what the content
// security policy forbade, what could not be loaded.
func (t *Tab) Complaints() []string {
	t.traffic.mutex.Lock()
	defer t.traffic.mutex.Unlock()
	return slices.Clone(t.traffic.complaints)
}

// sameHost reports whether a request stayed on the host of the page. What is inside the page is on no host.
func sameHost(page, request string) bool {
	of, err := url.Parse(page)
	if err != nil {
		return false
	}
	to, err := url.Parse(request)
	return err == nil && (to.Host == of.Host || to.Scheme == "data" || to.Scheme == "blob")
}
