package host

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// inputJSON reports whether the host receives JSON. That is the case if it is configured, if the
// host answers in JSON, or if the host is initialised.
func (c *Config) inputJSON() bool {
	if c.InputFormat != "" {
		return c.InputFormat == "json"
	}
	return c.OutputFormat == "json" || c.Init || c.hasParams() || c.protocol().New != nil
}

// promptLine returns the line that begins an exchange. withTools adds the tools that the host may
// call.
func (c *Config) promptLine(r *effect.ExchangeOpen, withTools bool) line {
	return c.promptWith(r, withTools, "", nil, nil)
}

// promptWith is like promptLine, but adds the exchange's key unless it is "", and the resumption if
// the process continues a lost process's exchange, and the position in the trace.
func (c *Config) promptWith(r *effect.ExchangeOpen, withTools bool, key string, resumed *adapter.Resumption, trace []effect.Header) line {
	if !c.inputJSON() {
		return textPrompt(r)
	}
	o := longObject{Object: *jsonobject.New(hostmsg.Prompt)}
	o.textMember("text", r.Prompt)
	if r.Context != nil {
		o.Raw("context", r.Context)
	}
	if r.Schema != nil {
		o.Raw("schema", r.Schema)
	}
	if r.Session != "" {
		o.textMember("session", r.Session)
	}
	if withTools {
		o.Raw("tools", toolList(r.Tools))
	}
	if resumed != nil {
		o.Raw("resumed", jsonwrite.MustEncode(resumed))
	}
	if key != "" {
		o.textMember("key", key)
	}
	if members := effect.TraceMembers(trace); members != nil {
		o.Raw("trace", jsonwrite.MustEncode(members))
	}
	return o.toLine()
}

// toolList returns the tools as a JSON list.
func toolList(all []effect.ToolSpec) []byte {
	if len(all) == 0 {
		return []byte("[]")
	}
	return jsonwrite.MustEncode(all) // the tools' schemas were checked when the tools were created
}

// promptFor returns the prompt for the process p, which may have announced that its prompts must
// list the tools.
func (ex *exchange) promptFor(p *process) line {
	if p.announced.wantsTools && !ex.pool.cfg.SendTools {
		return ex.pool.cfg.promptWith(ex.request.Continuing(ex.session), true, ex.key, nil, ex.trace)
	}
	return ex.prompt
}

// lineBreaks replaces the line breaks of a text prompt, because such a prompt must be a single
// line. Backslashes are not escaped.
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
		return line{short: []byte{'\n'}, long: []longPart{newLongPart(0, s, appendUnbroken)}}
	}
	return line{short: append(appendUnbroken(nil, s), '\n')}
}
