package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Offer is a tool that Concerto's MCP server offers. Output is the JSON Schema of its result, which
// must be an object, or nil. An error that Call returns is reported as the tool's error.
type Offer struct {
	Name        string
	Description string
	Parameters  json.RawMessage
	Output      json.RawMessage
	// Calls identifies the target of Call, if the target may change while the name remains the
	// same.
	Calls string
	Call  func(ctx context.Context, args json.RawMessage, report func(Progress)) (Result, error)
}

// Result is the result of a call: a text, and a JSON value if the value is an object.
type Result struct {
	Text   string
	Object json.RawMessage
}

// Progress is a progress report of a call. Done increases with each report. Total is 0 if it is
// unknown.
type Progress struct {
	Done, Total float64
	Message     string
}

// Offers are the tools that a server offers: the fixed ones, and the latest list of the changing
// ones. Clients are notified of changes.
type Offers struct {
	Fixed   []Offer
	Begin   []Offer        // first list of the changing tools
	Changes <-chan []Offer // receives each new list of the changing tools; nil if the list never changes
}

// newServer returns a server that offers the tools. It follows changes until ctx ends.
func newServer(ctx context.Context, name, version string, all Offers) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: version}, nil)
	for _, o := range all.Fixed {
		addTool(s, o)
	}
	now := map[string]Offer{}
	replaceOffers(s, now, all.Begin)
	if all.Changes != nil {
		go func() {
			for {
				select {
				case next, more := <-all.Changes:
					if !more {
						return
					}
					replaceOffers(s, now, next)
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return s
}

// replaceOffers replaces the offered tools. It does not register unchanged tools again, because
// clients would be notified.
func replaceOffers(s *sdk.Server, now map[string]Offer, next []Offer) {
	wanted := map[string]bool{}
	for _, o := range next {
		wanted[o.Name] = true
		if before, there := now[o.Name]; there && before.equalTo(o) {
			continue
		}
		now[o.Name] = o
		addTool(s, o)
	}
	var removed []string
	for name := range now {
		if !wanted[name] {
			removed = append(removed, name)
			delete(now, name)
		}
	}
	if len(removed) > 0 {
		s.RemoveTools(removed...)
	}
}

// equalTo reports whether two offers with the same name are equal for clients and have the same
// target.
func (o Offer) equalTo(other Offer) bool {
	return o.Description == other.Description && o.Calls == other.Calls && bytes.Equal(o.Parameters, other.Parameters) && bytes.Equal(o.Output, other.Output)
}

// addTool adds a tool to a server, or replaces the tool with the same name.
func addTool(s *sdk.Server, o Offer) {
	t := &sdk.Tool{Name: o.Name, Description: o.Description, InputSchema: o.Parameters}
	if o.Output != nil {
		t.OutputSchema = o.Output
	}
	s.AddTool(t, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		reports := newReports(ctx, r)
		result, err := o.Call(context.WithValue(ctx, clientKey{}, clientOf(r)), r.Params.Arguments, reports.addReport)
		reports.closeReports()
		if err != nil {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}, nil
		}
		out := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: result.Text}}}
		if result.Object != nil {
			out.StructuredContent = result.Object
		}
		return out, nil
	})
}

type clientKey struct{}

// Client returns the name that the client has reported, or "". ctx must be the context of a call of
// an offer.
func Client(ctx context.Context) string {
	name, _ := ctx.Value(clientKey{}).(string)
	return name
}

func clientOf(r *sdk.CallToolRequest) string {
	if r.Session == nil {
		return ""
	}
	if p := r.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return p.ClientInfo.Name
	}
	return ""
}

// reports sends the progress reports of one call in a separate goroutine, so that a client that
// does not read does not block the call. It sends reports only if the client has requested them
// with a progress token.
type reports struct {
	wanted bool
	ended  sync.WaitGroup

	mu      sync.Mutex
	waiting []Progress
	closed  bool
	more    chan struct{}
}

// maxReports is the maximum number of waiting reports. If there are more, the oldest is dropped.
const maxReports = 256

func newReports(ctx context.Context, r *sdk.CallToolRequest) *reports {
	token := r.Params.GetProgressToken()
	x := &reports{wanted: token != nil, more: make(chan struct{}, 1)}
	if !x.wanted {
		return x
	}
	x.ended.Go(func() {
		for {
			p, ok := x.nextReport()
			if !ok {
				return
			}
			// ignored, because reports are optional
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: p.Done, Total: p.Total, Message: p.Message})
		}
	})
	return x
}

func (x *reports) addReport(p Progress) {
	if !x.wanted {
		return
	}
	x.mu.Lock()
	if x.waiting = append(x.waiting, p); len(x.waiting) > maxReports {
		x.waiting = x.waiting[1:]
	}
	x.mu.Unlock()
	x.wake()
}

func (x *reports) wake() {
	select {
	case x.more <- struct{}{}:
	default:
	}
}

// nextReport waits for a report. It returns false if no more reports follow.
func (x *reports) nextReport() (Progress, bool) {
	for {
		x.mu.Lock()
		if len(x.waiting) > 0 {
			p := x.waiting[0]
			x.waiting = x.waiting[1:]
			x.mu.Unlock()
			return p, true
		}
		closed := x.closed
		x.mu.Unlock()
		if closed {
			return Progress{}, false
		}
		<-x.more
	}
}

// closeReports returns when all waiting reports were sent, so that the result of the call follows
// them.
func (x *reports) closeReports() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.wake()
	x.ended.Wait()
}

// ServeStreams offers tools to the client at the other end of in and out. It returns when in or ctx
// ends.
func ServeStreams(ctx context.Context, name, version string, offers Offers, in io.ReadCloser, out io.WriteCloser) error {
	// The session must continue after ctx has ended, because closing it answers the running calls
	// if possible.
	session, err := newServer(ctx, name, version, offers).Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: exactLines(in), Writer: exactWriter{out}}, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = session.Close() })
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	case <-ctx.Done():
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C: // the client does not read its answers
	}
	return context.Cause(ctx)
}
