// Package testmcp is an MCP server for tests, built on the official SDK. It serves over standard
// streams, as the command testmcp, or over HTTP.
package testmcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type (
	echoArgs struct {
		Text  string `json:"text" jsonschema:"what to say"`
		Times int    `json:"times,omitempty"`
	}
	addArgs struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	sum struct {
		Sum  int    `json:"sum"`
		Text string `json:"text"`
	}
	nothing  struct{}
	deadline struct {
		MS int `json:"ms"`
	}
	tagged struct {
		Mode string   `json:"mode" jsonschema:"how"`
		Tags []string `json:"tags"`
	}
)

// New creates the server. Its tools are echo, add, tags, fail, steps (reports progress), ask
// (elicits), wait, die, deaf, and header, which returns the result of header. It has resources and
// prompts unless TESTMCP_BARE is set. With TESTMCP_TRACED it has the tool trace, with
// TESTMCP_VISIT the tool visit, which asks a person to open that address. With TESTMCP_CHANGES it
// has only the tool locked, whose call replaces it by the tool unlocked. Its lists come in pages of
// three.
func New(header func() string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "testmcp", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
	if os.Getenv("TESTMCP_BARE") == "" {
		addResources(s)
		addPrompts(s)
	}
	if os.Getenv("TESTMCP_KILLS") != "" {
		addKillers(s)
	}
	if os.Getenv("TESTMCP_TRACED") != "" {
		add(s, "trace", "Returns traceparent of the call", func(_ context.Context, r *mcp.CallToolRequest, _ nothing) (string, error) {
			return fmt.Sprint(r.Params.Meta["traceparent"]), nil
		})
	}
	if address := os.Getenv("TESTMCP_VISIT"); address != "" {
		addVisit(s, address)
	}
	if os.Getenv("TESTMCP_HOSTILE") != "" {
		addHostile(s)
		return s
	}
	if os.Getenv("TESTMCP_CHANGES") != "" {
		AddChanging(s)
		return s
	}
	add(s, "echo", "Echoes the text", func(_ context.Context, _ *mcp.CallToolRequest, a echoArgs) (string, error) {
		return strings.Repeat(a.Text, max(a.Times, 1)), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds"}, func(_ context.Context, _ *mcp.CallToolRequest, a addArgs) (*mcp.CallToolResult, sum, error) {
		return nil, sum{a.A + a.B, fmt.Sprintf("%d and %d", a.A, a.B)}, nil
	})
	add(s, "tags", "Joins", func(_ context.Context, _ *mcp.CallToolRequest, a tagged) (string, error) {
		return `["` + strings.Join(a.Tags, `","`) + `"]`, nil
	})
	add(s, "say-twice", "Echoes the text twice", func(_ context.Context, _ *mcp.CallToolRequest, a echoArgs) (string, error) {
		return a.Text + a.Text, nil
	})
	add(s, "fail", "Fails", func(context.Context, *mcp.CallToolRequest, nothing) (string, error) {
		return "", errors.New("out of paper")
	})
	add(s, "steps", "Reports", func(ctx context.Context, r *mcp.CallToolRequest, _ nothing) (string, error) {
		for i := range 2 {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(),
				Progress: float64(i + 1), Total: 2, Message: fmt.Sprintf("step %d", i+1)}); err != nil {
				return "", err
			}
		}
		return "stepped", nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "Asks"}, func(_ context.Context, r *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		got, ok := r.Params.InputResponses["name"].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "Your name?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}}}}}, nil, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%s %v", got.Action, got.Content["name"])}}}, nil, nil
	})
	add(s, "wait", "Waits", func(ctx context.Context, _ *mcp.CallToolRequest, a deadline) (string, error) {
		select {
		case <-time.After(time.Duration(a.MS) * time.Millisecond):
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	add(s, "die", "Ends the server", func(context.Context, *mcp.CallToolRequest, nothing) (string, error) {
		os.Exit(3)
		return "", nil
	})
	add(s, "deaf", "Reads nothing any more", func(context.Context, *mcp.CallToolRequest, nothing) (string, error) {
		stalled.Store(true)
		return "deaf", nil
	})
	add(s, "header", "Returns the header X-Team", func(context.Context, *mcp.CallToolRequest, nothing) (string, error) { return header(), nil })
	return s
}

// AddChanging adds the tool locked. A call replaces it by the tool unlocked, and returns after the
// client was notified of the change.
func AddChanging(s *mcp.Server) {
	sent := make(chan struct{}, 1)
	s.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, r)
			if method == "notifications/tools/list_changed" {
				select {
				case sent <- struct{}{}:
				default:
				}
			}
			return result, err
		}
	})
	add(s, "locked", "Unlocks the other tool", func(context.Context, *mcp.CallToolRequest, nothing) (string, error) {
		select {
		case <-sent: // about an earlier change
		default:
		}
		add(s, "unlocked", "Was locked", func(context.Context, *mcp.CallToolRequest, nothing) (string, error) { return "open", nil })
		s.RemoveTools("locked")
		<-sent
		return "unlocked", nil
	})
}

// addVisit adds the tool visit.
func addVisit(s *mcp.Server, address string) {
	mcp.AddTool(s, &mcp.Tool{Name: "visit", Description: "Asks a person to open an address"}, func(ctx context.Context, r *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		const id = "visit-1"
		got, ok := r.Params.InputResponses[id].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{id: &mcp.ElicitParams{Mode: "url", Message: "Pay the bill", URL: address, ElicitationID: id}}}, nil, nil
		}
		if got.Action == "accept" {
			if err := r.Session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id}); err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: got.Action}}}, nil, nil
	})
}

func add[A any](s *mcp.Server, name, description string, f func(context.Context, *mcp.CallToolRequest, A) (string, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, func(ctx context.Context, r *mcp.CallToolRequest, a A) (*mcp.CallToolResult, any, error) {
		text, err := f(ctx, r, a)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
}

// addResources adds pages docs://1 to docs://4, a picture, and a template of notes.
func addResources(s *mcp.Server) {
	for i := range 4 {
		r := &mcp.Resource{URI: fmt.Sprintf("docs://%d", i+1), Name: fmt.Sprintf("page %d", i+1), MIMEType: "text/plain", Size: int64(i)}
		s.AddResource(r, func(_ context.Context, q *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: q.Params.URI, MIMEType: "text/plain", Text: "the text of " + r.Name}}}, nil
		})
	}
	s.AddResource(&mcp.Resource{URI: "docs://picture", Name: "picture", Title: "A picture", Description: "Of something"},
		func(_ context.Context, q *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: q.Params.URI, MIMEType: "image/png", Blob: []byte{0, 255}}, {URI: q.Params.URI + "/title", Text: "A picture"}}}, nil
		})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "notes://{day}", Name: "notes", MIMEType: "text/plain"},
		func(_ context.Context, q *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: q.Params.URI, Text: "notes of " + strings.TrimPrefix(q.Params.URI, "notes://")}}}, nil
		})
}

// addPrompts adds review, with a file argument, and greet, which has no argument and contains a
// picture.
func addPrompts(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{Name: "review", Description: "Reviews a file", Arguments: []*mcp.PromptArgument{
		{Name: "file", Description: "which", Required: true}, {Name: "depth"}}},
		func(_ context.Context, q *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if q.Params.Arguments["file"] == "" {
				return nil, errors.New("the argument file is missing")
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Review " + q.Params.Arguments["file"] + q.Params.Arguments["depth"]}},
				{Role: "assistant", Content: &mcp.TextContent{Text: "Show it."}}}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.ImageContent{Data: []byte{1, 2}, MIMEType: "image/png"}},
			{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "docs://1", Text: "hello"}}}}}, nil
	})
}

// Main serves standard input and output, and returns the exit code. With TESTMCP_FAILS it writes
// that text to its standard error and exits; with TESTMCP_NOISE it writes that text to its standard
// output.
func Main() int {
	if why := os.Getenv("TESTMCP_FAILS"); why != "" {
		fmt.Fprintln(os.Stderr, why)
		return 4
	}
	if noise := os.Getenv("TESTMCP_NOISE"); noise != "" {
		fmt.Println(noise)
	}
	if err := New(func() string { return os.Getenv("TESTMCP") }).Run(context.Background(), &mcp.IOTransport{Reader: stallingReader{os.Stdin}, Writer: os.Stdout}); err != nil {
		return 1
	}
	return 0
}

// stalled makes the process stop reading its standard input.
var stalled atomic.Bool

type stallingReader struct{ *os.File }

func (e stallingReader) Read(b []byte) (int, error) {
	for stalled.Load() {
		time.Sleep(time.Hour) // without a timer the runtime ends a program in which all goroutines wait
	}
	return e.File.Read(b[:min(len(b), 1024)])
}

// Start serves HTTP on the loopback interface. The tool header returns the header X-Team of the
// last request.
func Start() *httptest.Server {
	team := make(chan string, 1)
	team <- ""
	last := func() string {
		t := <-team
		team <- t
		return t
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return New(last) }, nil)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-team
		team <- r.Header.Get("X-Team")
		h.ServeHTTP(w, r)
	}))
}
