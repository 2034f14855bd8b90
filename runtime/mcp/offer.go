package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// newServer returns a server that offers the tools. It follows changes until ctx ends.
func newServer(ctx context.Context, name, version string, all mcpport.Offers) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: version}, nil)
	for _, o := range all.Fixed {
		addTool(s, o)
	}
	now := map[string]mcpport.Offer{}
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
func replaceOffers(s *sdk.Server, now map[string]mcpport.Offer, next []mcpport.Offer) {
	wanted := map[string]bool{}
	for _, o := range next {
		wanted[o.Name] = true
		if before, there := now[o.Name]; there && isEqual(before, o) {
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

// isEqual reports whether two offers with the same name are equal for clients and have the same
// target.
func isEqual(o, other mcpport.Offer) bool {
	return o.Description == other.Description && o.Calls == other.Calls && bytes.Equal(o.Parameters, other.Parameters) && bytes.Equal(o.Output, other.Output)
}

// addTool adds a tool to a server, or replaces the tool with the same name.
func addTool(s *sdk.Server, o mcpport.Offer) {
	t := &sdk.Tool{Name: o.Name, Description: o.Description, InputSchema: o.Parameters}
	if o.Output != nil {
		t.OutputSchema = o.Output
	}
	s.AddTool(t, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		reports := newReports(ctx, r)
		result, err := o.Call(mcpport.WithClient(ctx, clientOf(r)), r.Params.Arguments, reports.addReport)
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
	waiting []mcpport.Progress
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

func (x *reports) addReport(p mcpport.Progress) {
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
func (x *reports) nextReport() (mcpport.Progress, bool) {
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
			return mcpport.Progress{}, false
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

// serveStreams offers tools to the client at the other end of in and out. It returns when in or ctx
// ends.
func serveStreams(ctx context.Context, name, version string, offers mcpport.Offers, in io.ReadCloser, out io.WriteCloser) error {
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
