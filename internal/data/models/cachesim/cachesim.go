// Package cachesim simulates the cache in which a provider stores the beginnings of requests
// (spec/07-agents.md): what it reads for recorded requests, and what it could have read.
package cachesim

import (
	"crypto/sha256"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// Parts of a request.
const (
	Tools   = "tools"
	System  = "system"
	Schema  = "schema"
	Message = "message"
)

// Block is a part of a request that a provider stores as a whole. Name is that of a tool, or the
// role of a message. Marked means that the request marks its end.
type Block struct {
	Part, Name, Text string
	Marked           bool
}

// Layout returns the blocks of a request in the order in which models read them: tools, system
// text, schema, messages. least is the number of tokens below which nothing is marked. The marks
// are those of package runtime/llm.
func Layout(call *effect.AgentCall, least int64) []Block {
	var all []Block
	size := int64(0)
	add := func(part, name, text string, marked bool) {
		size += int64(utf8.RuneCountInString(text)+3) / 4
		all = append(all, Block{part, name, text + "\n", marked && size >= least})
	}
	for i, t := range call.Tools {
		add(Tools, t.Name, t.Name+"\n"+t.Description+"\n"+string(t.Parameters), i == len(call.Tools)-1)
	}
	if call.System != "" {
		add(System, "", call.System, true)
	}
	if len(call.Schema) > 0 {
		add(Schema, "", string(call.Schema), false)
	}
	messages := effect.KnowledgeLast(call.Messages, "user")
	previous := -2 // the end of the request before this one
	for i := range messages {
		if messages[i].Role == "assistant" {
			previous = i - 1
		}
	}
	goesOn := len(call.Tools) > 0 || previous > -2
	for i := range messages {
		m := &messages[i]
		add(Message, m.Role, textOf(m), goesOn && (i == previous || i == len(messages)-1))
	}
	return all
}

// textOf returns a message as text.
func textOf(m *effect.ChatMessage) string {
	var b strings.Builder
	b.WriteString(m.Role + ": ")
	for _, f := range m.Files {
		b.WriteString(f.Name + " " + f.SHA256 + "\n")
	}
	b.WriteString(m.Content)
	for _, c := range m.ToolCalls {
		b.WriteString("\n" + c.ID + " " + c.Name + " " + c.Args)
	}
	return b.String()
}

// Rules are those of the cache of a model's provider. The zero value stores all ends of blocks for
// ever.
type Rules struct {
	Marks    bool          // only prefixes that end with a mark are stored
	Chunk    int           // prefixes end after so many bytes; 0 means that they end with blocks
	Least    int64         // number of tokens of the shortest prefix that is stored
	Lifetime time.Duration // after the last use
	// Hour means that the lifetime is an hour, which has a price of its own, and Charged that
	// writing has one at all.
	Hour, Charged bool
}

// RulesOf returns the rules for a model. hour means that the connection stores for an hour.
func RulesOf(m *models.Model, hour bool) Rules {
	r := Rules{Marks: m.Cache == models.Marks || m.Cache == models.Points, Least: m.CacheMin, Lifetime: 5 * time.Minute}
	r.Charged = r.Marks || m.CacheOptions
	if r.Marks && hour {
		r.Hour, r.Lifetime = true, time.Hour
	}
	if !r.Marks {
		r.Chunk = 512 // 128 tokens (https://developers.openai.com/api/docs/guides/prompt-caching)
	}
	return r
}

// Perfect returns the rules for requests in which all ends are marked.
func (r Rules) Perfect() Rules { r.Marks = false; return r }

// Request is a request to one model. Tokens is the number of tokens of its input. Its prefixes
// can be read from Ready on: the first byte of the reply, or its end if that is not known.
type Request struct {
	Blocks       []Block
	Tokens       int64
	Start, Ready time.Duration
}

// Result contains the tokens that a request reads and writes, and the end of the longest equal
// prefix that it cannot read, because it was not ready or has expired.
type Result struct{ Read, Written, NotReady, Expired int64 }

// Usage returns the usage of a request with these tokens.
func (r Rules) Usage(x Result, in, out int64) models.Usage {
	u := models.Usage{In: in, Out: out, Parts: models.Parts{Cached: x.Read}}
	if r.Charged {
		u.CacheWrite = x.Written
	}
	if r.Hour {
		u.CacheWrite1h = x.Written
	}
	return u
}

// Cache is the cache of one model. It loses nothing before its time.
type Cache struct {
	rules  Rules
	stored map[[32]byte]*prefix
}

type prefix struct{ ready, used time.Duration }

// New returns an empty cache.
func New(r Rules) *Cache { return &Cache{r, map[[32]byte]*prefix{}} }

// frame is what the form of a request adds to each block, in bytes: vendors count some tokens for
// the beginnings and ends of messages, tools and calls.
const frame = 32

// Send processes the next request in the order of their starts.
func (c *Cache) Send(r Request) (out Result) {
	total, sofar := 0, 0
	for i := range r.Blocks {
		total += len(r.Blocks[i].Text) + frame
	}
	var key [32]byte
	var written []*prefix
	last := int64(0)
	for i := range r.Blocks {
		b := &r.Blocks[i]
		sofar += frame
		for _, text := range c.split(b.Text) {
			key = sha256.Sum256(append(key[:], text...))
			sofar += len(text)
			end := r.Tokens * int64(sofar) / int64(max(total, 1))
			p := c.stored[key]
			switch {
			case p == nil:
			case r.Start < p.ready:
				out.NotReady = end
			case c.rules.Lifetime > 0 && r.Start > p.used+c.rules.Lifetime:
				out.Expired = end
			default:
				out.Read, p.used = end, r.Start
				continue
			}
			if end < c.rules.Least || c.rules.Marks && !b.Marked || c.rules.Chunk > 0 && len(text) < c.rules.Chunk {
				continue
			}
			if p == nil || p.ready <= r.Start { // new, or expired
				p = &prefix{ready: r.Ready}
				c.stored[key] = p
			}
			written, last = append(written, p), end
		}
	}
	for _, p := range written {
		p.ready, p.used = min(p.ready, r.Ready), r.Start
	}
	out.Written = max(0, last-out.Read)
	return out
}

// split divides the text of a block at the places where prefixes can end.
func (c *Cache) split(text string) (all []string) {
	if c.rules.Chunk == 0 {
		return []string{text}
	}
	for len(text) > c.rules.Chunk {
		all, text = append(all, text[:c.rules.Chunk]), text[c.rules.Chunk:]
	}
	return append(all, text)
}
