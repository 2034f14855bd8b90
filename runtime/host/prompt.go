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
	return c.promptWith(r, promptOptions{withTools: withTools})
}

// promptOptions are the members of a prompt that do not depend on the program.
type promptOptions struct {
	withTools bool                // the prompt lists the tools that the host may call
	key       string              // "" for none
	resumed   *adapter.Resumption // set if the process continues the exchange of a lost process
	queued    bool                // the prompt begins a later turn of an exchange
	trace     []effect.Header     // position in the trace
}

// promptWith is like promptLine, but adds the members in o.
func (c *Config) promptWith(r *effect.ExchangeOpen, opts promptOptions) line {
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
	if opts.withTools {
		o.Raw("tools", toolList(r.Tools))
	}
	if opts.resumed != nil {
		o.Raw("resumed", jsonwrite.MustEncode(opts.resumed))
	}
	if opts.queued {
		o.Raw("queued", []byte("true"))
	}
	if opts.key != "" {
		o.textMember("key", opts.key)
	}
	if members := effect.TraceMembers(opts.trace); members != nil {
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
		return ex.pool.cfg.promptWith(ex.request.Continuing(ex.session), promptOptions{withTools: true, key: ex.key, trace: ex.trace})
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
