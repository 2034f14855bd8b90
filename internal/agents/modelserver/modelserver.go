// Package modelserver is a scripted model server on the loopback interface. It serves tests of
// model providers, of the command and of coding agents.
//
// The server replies in the format of the API whose path is requested: OpenAI's chat completions
// and responses, Anthropic's messages, Google's generateContent, or Ollama's chat, whole or
// streamed. It records each request. A script can also request failures: errors, malformed replies,
// cut connections, silence, and endless streams.
package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Reply is one reply of a script. A request uses the first unused reply whose When occurs in its
// body.
type Reply struct {
	When      string          `json:"when"`
	Repeat    bool            `json:"repeat"` // the reply can be used any number of times
	Text      string          `json:"text"`
	Thought   string          `json:"thought"` // thinking text in responses of Anthropic and OpenAI
	Refusal   string          `json:"refusal"` // part of a response in OpenAI's Responses API
	JSON      json.RawMessage `json:"json"`    // input of a forced tool call, or else the text
	ToolCalls []Call          `json:"tool_calls"`
	TokensIn  int             `json:"tokens_in"`
	TokensOut int             `json:"tokens_out"`
	Counts    bool            `json:"counts"` // the server computes TokensIn and its parts
	Parts
	Stop    string            `json:"stop"` // stop reason in the wire format
	Status  int               `json:"status"`
	Error   string            `json:"error"` // message of an error status
	Headers map[string]string `json:"headers"`
	Raw     *string           `json:"raw"`    // body to send unchanged
	Cut     bool              `json:"cut"`    // the connection breaks within the body
	Hang    bool              `json:"hang"`   // no reply is sent until the client disconnects
	Pieces  []string          `json:"pieces"` // pieces of the text in a stream; by default its words
	Chunk   int               `json:"chunk"`  // number of bytes in each write; 0 for all
	Big     int               `json:"big"`    // size of a generated text in bytes
	StreamEnd
}

// Parts are the tokens that TokensIn and TokensOut of a reply include, and the service tier.
type Parts struct {
	Cached       int    `json:"tokens_cached"`
	CacheWrite   int    `json:"tokens_cache_write"`
	CacheWrite1h int    `json:"tokens_cache_write_1h"` // included in CacheWrite
	Reasoning    int    `json:"tokens_reasoning"`
	Tier         string `json:"service_tier"`
}

// StreamEnd describes the abnormal end of a stream.
type StreamEnd struct {
	CutAfter  int  `json:"cut_after"`  // number of events after which the connection breaks
	HangAfter int  `json:"hang_after"` // number of events after which the stream stalls
	Endless   bool `json:"endless"`    // the first piece is repeated until the client disconnects
	EveryMS   int  `json:"every_ms"`   // pause between the pieces of an endless stream, in milliseconds
}

// Call is a tool call of a reply.
type Call struct {
	ID        string          `json:"id"`
	Namespace string          `json:"namespace"` // of the tool's name, in OpenAI's Responses API
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
}

// Request is a received request.
type Request struct {
	Path   string
	Header http.Header
	Body   map[string]any
	Text   string
	Reply  Reply
}

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	URL string // base URL without a path
	// Disconnected receives a value for each client that disconnected from a hanging request.
	Disconnected chan struct{}
	// Arrived receives a value for each request, before the reply.
	Arrived chan struct{}

	check    Check
	count    func(api string, body []byte, r *Reply)
	mux      *http.ServeMux
	http     *http.Server
	mu       sync.Mutex
	replies  []Reply
	used     []bool
	requests []Request
	invalid  []string
}

// Check validates a request to an API, such as "anthropic".
type Check func(api string, r *http.Request, body []byte) error

// Start serves replies on a free port of the loopback interface until Close. It responds with 400
// to requests that check refuses; a nil check accepts all, as agents use members outside the
// published schemas.
func Start(check Check, replies ...Reply) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + l.Addr().String(), check: check, replies: replies, used: make([]bool, len(replies)),
		Disconnected: make(chan struct{}, 64), Arrived: make(chan struct{}, 1024)}
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("/", s.serve)
	s.http = &http.Server{Handler: s.mux}
	go s.http.Serve(l)
	return s, nil
}

// CountWith sets the function that computes the tokens of requests, for replies with Counts.
func (s *Server) CountWith(count func(api string, body []byte, r *Reply)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count = count
}

// Handle serves a path that belongs to no API.
func (s *Server) Handle(path string, h http.Handler) { s.mux.Handle(path, h) }

// Restart begins a new script.
func (s *Server) Restart(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies, s.used = replies, make([]bool, len(replies))
}

// Close closes the server and its connections.
func (s *Server) Close() {
	s.http.Close()
}

// Requests returns the requests received so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// InvalidRequests returns the errors of the check.
func (s *Server) InvalidRequests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.invalid...)
}

func (s *Server) validate(api string, r *http.Request, body []byte) error {
	if s.check == nil {
		return nil
	}
	err := s.check(api, r, body)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.invalid = append(s.invalid, err.Error())
	}
	return err
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Text: string(text)}
	if err := json.Unmarshal(text, &req.Body); err != nil {
		http.Error(w, "no JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	f := formOf(r.URL.Path)
	if f == nil {
		w.WriteHeader(http.StatusNotFound)
		writeJSON(w, map[string]any{"error": map[string]any{"message": "no such path: " + r.URL.Path}})
		return
	}
	if err := s.validate(f.name, r, text); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		writeJSON(w, map[string]any{"error": map[string]any{"message": err.Error()}})
		return
	}
	reply, at := s.nextReply(req)
	s.Arrived <- struct{}{}
	for k, v := range reply.Headers {
		w.Header().Set(k, v)
	}
	if reply.Big > 0 {
		reply.Text = strings.Repeat("0123456789", reply.Big/10)
	}
	stream := req.Body["stream"] == true || strings.Contains(r.URL.Path, ":stream") || strings.HasSuffix(r.URL.Path, "/converse-stream")
	switch {
	case reply.Hang:
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		s.Disconnected <- struct{}{}
	case reply.Cut:
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, `{"choices": [`)
		panic(http.ErrAbortHandler)
	case reply.Raw != nil:
		w.WriteHeader(max(reply.Status, http.StatusOK))
		io.WriteString(w, *reply.Raw)
	case reply.Status >= 300:
		w.WriteHeader(reply.Status)
		writeJSON(w, map[string]any{"type": "error", "error": map[string]any{"message": reply.Error, "type": "error"}})
	case stream:
		s.stream(w, r, f, &reply, req.Body)
	default:
		w.Header().Set("Content-Type", "application/json")
		writeJSON(w, f.whole(&reply, req.Body))
	}
	isWhole := !reply.Hang && reply.Raw == nil && reply.Status < 300 && reply.StreamEnd == StreamEnd{}
	if at >= 0 && isWhole && (http.NewResponseController(w).Flush() != nil || r.Context().Err() != nil) {
		s.restore(at)
	}
}

func writeJSON(w io.Writer, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		fmt.Fprintf(w, "%v", err)
	}
}

// nextReply records a request and returns its reply, with its index in the script.
func (s *Server) nextReply(req Request) (Reply, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := -1
	for i := range s.replies {
		if !s.used[i] && strings.Contains(req.Text, s.replies[i].When) {
			at = i
			break
		}
	}
	req.Reply = Reply{Status: 500, Error: "script exhausted"}
	if at >= 0 {
		req.Reply = s.replies[at]
		s.used[at] = !req.Reply.Repeat
	}
	if req.Reply.Counts {
		s.count(formOf(req.Path).name, []byte(req.Text), &req.Reply)
	}
	s.requests = append(s.requests, req)
	return req.Reply, at
}

// restore makes a reply that no client has received available to the next request: an agent that
// has lost its connection sends its request again.
func (s *Server) restore(at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[at] = false
}

// Load parses a script: a JSON array of replies.
func Load(script []byte) ([]Reply, error) {
	var out []Reply
	if err := json.Unmarshal(script, &out); err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	return out, nil
}
