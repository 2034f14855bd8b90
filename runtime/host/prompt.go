package host

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/hostmsg"
	"github.com/concerto-lang/concerto/internal/ndjson"
)

// inputJSON says whether the host takes JSON: when it says so, else when it
// answers in JSON or has parameters, which come as JSON anyway.
func (c *Config) inputJSON() bool {
	if c.InputFormat != "" {
		return c.InputFormat == "json"
	}
	return c.OutputFormat == "json" || c.Init || c.hasParams() || c.protocol().adapter != nil
}

// promptLine is the line that begins an exchange.
func (c *Config) promptLine(r *effect.ExchangeOpen) []byte {
	if !c.inputJSON() {
		return textPrompt(r)
	}
	o := newObject(hostmsg.Prompt)
	o.text("text", r.Prompt)
	if r.Context != nil {
		o.raw("context", r.Context)
	}
	if r.Schema != nil {
		o.raw("schema", r.Schema)
	}
	if r.Session != "" {
		o.text("session", r.Session)
	}
	return ndjson.Append(nil, o.end())
}

// lineBreaks keeps a text prompt one line. Backslashes stay as they are.
var lineBreaks = strings.NewReplacer("\r\n", `\n`, "\n", `\n`)

func textPrompt(r *effect.ExchangeOpen) []byte {
	s := r.Prompt
	if r.Context != nil {
		s += "\nContext: " + string(r.Context)
	}
	if r.Schema != nil {
		s += "\nSchema: " + string(r.Schema)
	}
	return append([]byte(lineBreaks.Replace(s)), '\n')
}
