package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// scripted plays replies from the manifest, as the package comment describes.
type scripted struct {
	conn  *Connection
	sleep func(context.Context, time.Duration) error

	mu      sync.Mutex
	replies []*scriptedReply
}

// scriptedReply is one reply of a script (manifest keys connections.*.replies[]).
type scriptedReply struct {
	Match     string           `json:"match"`
	Agent     string           `json:"agent"`
	Text      string           `json:"text"`
	JSON      json.RawMessage  `json:"json"`
	ToolCalls []scriptedCall   `json:"tool_calls"`
	Error     *scriptedFailure `json:"error"`
	DelayMS   int64            `json:"delay_ms"`
	TokensIn  *int64           `json:"tokens_in"`
	TokensOut *int64           `json:"tokens_out"`
	Repeat    bool             `json:"repeat"`
	Stop      string           `json:"stop"`

	match *regexp.Regexp
	used  bool
}

type scriptedCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	ID   string          `json:"id"`
}

type scriptedFailure struct {
	Kind    string `json:"kind"`
	Status  int    `json:"status"`
	Message string `json:"message"`
}

func openScripted(c *Connection, w *world) (Provider, error) {
	p := &scripted{conn: c, sleep: w.sleep}
	if c.Replies == nil {
		return p, nil
	}
	p.replies = []*scriptedReply{}
	if err := json.Unmarshal(c.Replies, &p.replies); err != nil {
		return nil, fmt.Errorf("could not read the script of replies: %v", err)
	}
	for i, r := range p.replies {
		if r == nil {
			return nil, fmt.Errorf("reply %d is null", i+1)
		}
		var err error
		if r.match, err = regexp.Compile(r.Match); err != nil {
			return nil, fmt.Errorf("reply %d: `match` is not a valid regular expression: %v", i+1, err)
		}
	}
	return p, nil
}

// Capabilities returns no restrictions.
func (p *scripted) Capabilities() Capabilities { return Capabilities{} }

// Stream plays the first matching reply, word by word.
func (p *scripted) Stream(ctx context.Context, req *Request, piece func(string)) (*effect.AgentReply, error) {
	reply, err := p.Ask(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, word := range strings.SplitAfter(reply.Text, " ") {
		if word != "" {
			piece(word)
		}
	}
	return reply, nil
}

// Ask plays the first matching reply.
func (p *scripted) Ask(ctx context.Context, req *Request) (*effect.AgentReply, error) {
	first := req.chosen
	if req.chosen = nil; first == nil {
		first = p.choose(req)
	}
	r, err := first.reply, first.err
	if err != nil {
		return nil, err
	}
	if r.DelayMS > 0 {
		if err := p.sleep(ctx, time.Duration(r.DelayMS)*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if r.Error != nil {
		return nil, r.Error.failure()
	}
	out := &effect.AgentReply{Text: r.Text, StopReason: r.Stop}
	if r.JSON != nil {
		var b bytes.Buffer
		if err := json.Compact(&b, r.JSON); err != nil {
			return nil, &Failure{Class: ClassScript, Message: "invalid `json` in the script: " + err.Error()}
		}
		out.Text = b.String()
	}
	for i, c := range r.ToolCalls {
		args := "{}"
		if c.Args != nil {
			args = string(c.Args)
		}
		out.ToolCalls = append(out.ToolCalls, effect.ToolCall{ID: orNumber(c.ID, i), Name: offered(c.Name, req.Tools), Args: args})
	}
	if out.StopReason == "" {
		out.StopReason = stopReason(out)
	}
	out.TokensIn, out.TokensOut = promptTokens(req), tokens(out.Text)
	if r.TokensIn != nil {
		out.TokensIn = *r.TokensIn
	}
	if r.TokensOut != nil {
		out.TokensOut = *r.TokensOut
	}
	return out, nil
}

// chosen is the scripted reply that was chosen for a request, or the error if there is none.
type chosen struct {
	reply *scriptedReply
	err   error
}

func (p *scripted) choose(req *Request) *chosen {
	r, err := p.takeReply(req)
	return &chosen{r, err}
}

// takeReply returns the first unused reply that matches a request, and marks it as used.
func (p *scripted) takeReply(req *Request) (*scriptedReply, error) {
	if p.replies == nil {
		return echo(req), nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	prompt := req.Prompt()
	left := 0
	for _, r := range p.replies {
		if r.used {
			continue
		}
		left++
		if (r.Agent == "" || r.Agent == req.Agent) && r.match.MatchString(prompt) {
			r.used = !r.Repeat
			return r, nil
		}
	}
	what := fmt.Sprintf("none of the script's %d unused replies matches", left)
	if left == 0 {
		what = fmt.Sprintf("all %d replies of the script are used", len(p.replies))
	}
	return nil, &Failure{Class: ClassScript, Message: fmt.Sprintf("%s for the prompt %q: add a reply to connection '%s'%s, or set `repeat = true` in one",
		what, excerpt([]byte(prompt), 200), p.conn.Name, p.conn.sectionName())}
}

func (f *scriptedFailure) failure() *Failure {
	switch f.Kind {
	case "timeout":
		return &Failure{Class: ClassTimeout, Message: "no response in time" + colon(f.Message), Sent: true}
	case "connection":
		return &Failure{Class: ClassConnection, Message: "the connection was closed" + colon(f.Message)}
	}
	status := f.Status
	if status == 0 {
		status = 500
	}
	return statusFailure(status, refusal{text: f.Message}, "")
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// offered returns the full name of the tool that a script refers to: the tool with exactly that
// name, or else the first tool whose name ends in it, ignoring case.
func offered(name string, tools []effect.ToolSpec) string {
	for _, t := range tools {
		if t.Name == name {
			return name
		}
	}
	for _, t := range tools {
		if strings.HasSuffix(strings.ToLower(t.Name), strings.ToLower(name)) {
			return t.Name
		}
	}
	return name
}

// tokens estimates the number of tokens of a text: one for every four characters.
func tokens(text string) int64 { return tokensIn(utf8.RuneCountInString(text)) }

// tokensIn estimates the number of tokens of a text with so many characters.
func tokensIn(characters int) int64 { return int64((characters + 3) / 4) }

func promptTokens(req *Request) int64 {
	n := tokens(req.System)
	for _, m := range req.Messages {
		n += tokens(m.Content)
		for i := range m.Files {
			n += fileTokens(&m.Files[i])
		}
	}
	return n
}
