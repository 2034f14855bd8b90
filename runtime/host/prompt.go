package host

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// inputJSON says whether the host takes JSON: when it says so, else when it
// answers in JSON or has parameters, which come as JSON anyway.
func (c *Config) inputJSON() bool {
	if c.InputFormat != "" {
		return c.InputFormat == "json"
	}
	return c.OutputFormat == "json" || c.Init || c.hasParams() || c.protocol().New != nil
}

// promptLine is the line that begins an exchange; told: with the tools that the host may
// call.
func (c *Config) promptLine(r *effect.ExchangeOpen, told bool) line {
	return c.promptOf(r, told, "", nil)
}

// promptOf is promptLine with the exchange's key, "" for none, and for a process that continues an
// exchange with what that is informed of.
func (c *Config) promptOf(r *effect.ExchangeOpen, told bool, key string, again *adapter.Resumption) line {
	if !c.inputJSON() {
		return textPrompt(r)
	}
	o := longObject{Object: *jsonobject.New(hostmsg.Prompt)}
	o.text("text", r.Prompt)
	if r.Context != nil {
		o.Raw("context", r.Context)
	}
	if r.Schema != nil {
		o.Raw("schema", r.Schema)
	}
	if r.Session != "" {
		o.text("session", r.Session)
	}
	if told {
		o.Raw("tools", listOf(r.Tools))
	}
	if again != nil {
		o.Raw("resumed", jsonwrite.MustEncode(again))
	}
	if key != "" {
		o.text("key", key)
	}
	return o.line()
}

// listOf is a list of tools as JSON.
func listOf(all []effect.ToolSpec) []byte {
	if len(all) == 0 {
		return []byte("[]")
	}
	return jsonwrite.MustEncode(all) // who made a tool's schema has checked it
}

// promptFor is the prompt as a process wants it: it may have announced that it is to be told
// of its tools.
func (ex *exchange) promptFor(p *process) line {
	if p.announced.hearsTools && !ex.pool.cfg.SendTools {
		return ex.pool.cfg.promptOf(ex.asked, true, ex.key, nil)
	}
	return ex.prompt
}

// lineBreaks keeps a text prompt one line. Backslashes stay as they are.
var lineBreaks = strings.NewReplacer("\r\n", `\n`, "\n", `\n`)

func appendUnbroken(dst []byte, s string) []byte { return append(dst, lineBreaks.Replace(s)...) }

func textPrompt(r *effect.ExchangeOpen) line {
	s := r.Prompt
	if r.Context != nil {
		s += "\nContext: " + string(r.Context)
	}
	if r.Schema != nil {
		s += "\nSchema: " + string(r.Schema)
	}
	if len(s) >= longText {
		return line{short: []byte{'\n'}, long: []stretch{newStretch(0, s, appendUnbroken)}}
	}
	return line{short: append(appendUnbroken(nil, s), '\n')}
}
