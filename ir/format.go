package ir

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// The members of each structure, in the order in which they are written. Each function is for both
// directions.

// Encode encodes p as JSON. Equal programs always result in the same bytes.
func Encode(p *Program) []byte {
	c := &codec{writing: true}
	c.program(p)
	return append(c.out, '\n')
}

// Decode decodes the output of Encode. Its errors wrap ErrNotIR or ErrVersion, or contain the
// problem and its byte offset. The caller must verify a decoded program before running it.
func Decode(data []byte) (*Program, error) { return decode(data, (*codec).program) }

// DecodeSettings is like Decode for the connections and the settings of runs. It skips the other
// members, which take most of the time, and does not check them.
func DecodeSettings(data []byte) (*Program, error) {
	return decode(data, func(c *codec, p *Program) {
		c.object(func() {
			list(c, "connections", &p.Connections, true, c.connection)
			c.raw("run", &p.Run)
			if c.key != noKey && c.key != "connections" && c.key != "run" {
				c.skip()
				c.done()
			}
		})
	})
}

// decode decodes data with a function that reads a program.
func decode(data []byte, read func(*codec, *Program)) (p *Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			p, err = nil, f.err
		}
	}()
	c := &codec{in: data}
	c.header()
	p = &Program{Entry: -1}
	read(c, p)
	for ; c.pos < len(data); c.pos++ {
		if strings.IndexByte(" \t\r\n", data[c.pos]) < 0 {
			c.fail(c.pos, "text after the end of the program")
		}
	}
	return p, nil
}

// header checks the version before any member whose form may depend on the version.
func (c *codec) header() {
	const start = `{"version":`
	seen := make([]byte, 0, len(start))
	for _, b := range c.in {
		if len(seen) == len(start) {
			break
		}
		if strings.IndexByte(" \t\r\n", b) < 0 {
			seen = append(seen, b)
		}
	}
	switch {
	case len(c.in) == 0:
		panic(failure{fmt.Errorf("%w: the file is empty", ErrNotIR)})
	case string(seen) == start[:len(seen)] && len(seen) < len(start):
		panic(failure{fmt.Errorf("the file is truncated: it ends at byte %d", len(c.in))})
	case string(seen) != start:
		panic(failure{fmt.Errorf("%w: it does not begin with a version", ErrNotIR)})
	}
	c.expect('{')
	c.readString()
	c.expect(':')
	if err := checkVersion(c.readString()); err != nil {
		panic(failure{err})
	}
	c.pos = 0
}

func (c *codec) program(p *Program) {
	c.object(func() {
		c.str("version", &p.Version)
		c.line()
		c.str("name", &p.Name)
		c.line()
		list(c, "files", &p.Files, true, c.file)
		c.line()
		list(c, "types", &p.Types, true, c.typeInfo)
		c.line()
		list(c, "constants", &p.Constants, true, c.constant)
		c.line()
		list(c, "natives", &p.Natives, false, c.strElem)
		c.line()
		list(c, "functions", &p.Functions, true, c.function)
		c.line()
		list(c, "methods", &p.Methods, true, c.method)
		c.line()
		list(c, "connections", &p.Connections, true, c.connection)
		c.line()
		list(c, "agents", &p.Agents, true, c.agent)
		c.line()
		list(c, "hosts", &p.Hosts, true, c.host)
		c.line()
		list(c, "tools", &p.Tools, true, c.tool)
		list(c, "pipelines", &p.Pipelines, true, c.pipeline)
		list(c, "servers", &p.Servers, true, c.server)
		list(c, "app_tools", &p.AppTools, true, c.appTool)
		c.line()
		list(c, "stores", &p.Stores, true, c.store)
		c.line()
		if !c.writing || p.Limits != (Limits{}) {
			c.limits(&p.Limits)
			c.line()
		}
		if !c.writing || p.Permissions != nil {
			c.permissions(&p.Permissions)
			c.line()
		}
		if !c.writing || p.Audit != "" {
			c.optStr("audit", &p.Audit)
			c.line()
		}
		if !c.writing || p.Run != nil {
			c.raw("run", &p.Run)
			c.line()
		}
		if !c.writing || p.Workspace != nil {
			c.raw("workspace", &p.Workspace)
			c.line()
		}
		list(c, "merges", &p.Merges, true, c.mergeQueue)
		c.line()
		list(c, "tests", &p.Tests, true, c.test)
		c.line()
		list(c, "outline", &p.Outline, true, c.declaration)
		c.line()
		c.int("entry", &p.Entry)
		c.line()
	})
}

func (c *codec) file(f *File) {
	c.object(func() {
		c.str("name", &f.Name)
		c.optStr("text", &f.Text)
	})
}

func (c *codec) typeInfo(t *TypeInfo) {
	c.object(func() {
		c.str("kind", &t.Kind)
		c.optStr("name", &t.Name)
		c.optStr("doc", &t.Doc)
		list(c, "args", &t.Args, false, c.intElem)
		list(c, "fields", &t.Fields, false, c.field)
		list(c, "variants", &t.Variants, false, c.variant)
		list(c, "values", &t.Values, false, c.strElem)
		c.flag("elements", &t.Elements)
		c.flag("members", &t.Members)
	})
}

func (c *codec) field(f *FieldInfo) {
	c.object(func() {
		c.str("name", &f.Name)
		c.int("type", &f.Type)
		c.flag("optional", &f.Optional)
		c.raw("default", &f.Default)
		c.optStr("doc", &f.Doc)
	})
}

func (c *codec) variant(v *VariantInfo) {
	c.object(func() {
		c.str("name", &v.Name)
		c.flag("named", &v.Named)
		list(c, "fields", &v.Fields, false, c.field)
	})
}

// constant writes or reads a constant: a String as a string, an Int as a number, and a Float as a
// number with a point or exponent, or as {"float": …}.
func (c *codec) constant(k *Const) {
	if c.writing {
		switch {
		case k.String != nil:
			c.out = jsonwrite.Plain.Append(c.out, *k.String)
		case k.Int != nil:
			c.out = strconv.AppendInt(c.out, *k.Int, 10)
		case *k.Float == *k.Float && *k.Float-*k.Float == 0:
			c.out = appendFloat(c.out, *k.Float)
		default:
			c.object(func() { c.float("float", k.Float) })
		}
		return
	}
	switch b := c.peek(); {
	case b == '"':
		s := c.readString()
		k.String = &s
	case b == '{':
		c.object(func() { pointer(c, "float", &k.Float, c.float) })
	default:
		start := c.pos
		word := c.token()
		c.pos = start
		if strings.ContainsAny(word, ".eE") {
			f := c.readFloat()
			k.Float = &f
		} else {
			n := c.readInt()
			k.Int = &n
		}
	}
}

func (c *codec) function(f *Function) {
	c.object(func() {
		c.str("name", &f.Name)
		c.optInt("file", &f.File)
		c.optInt("line", &f.Line)
		list(c, "params", &f.Params, false, c.class)
		textual(c, c.str, "abi", &f.ABI)
		result := f.Result.String()
		c.str("result", &result)
		c.setClass(&f.Result, result)
		c.flag("mutself", &f.MutSelf)
		c.flag("body", &f.Body)
		c.optInt("captures", &f.Captures)
		c.optStr("on_unknown", &f.OnUnknown)
		c.int("registers", &f.Registers)
		if (!c.writing || f.Start != nil) && c.member("start") {
			c.start(&f.Start)
			c.done()
		}
		c.block(&f.Block)
		list(c, "listens", &f.Listens, false, c.listen)
	})
}

var classes = map[string]Class{"Unset": Unset, "Int": Int, "Float": Float, "Bool": Bool, "Full": Full}

func (c *codec) setClass(to *Class, name string) {
	if c.writing {
		return
	}
	class, ok := classes[name]
	if !ok {
		c.fail(c.pos, "unknown register class %q", name)
	}
	*to = class
}

func (c *codec) class(p *Class) {
	name := p.String()
	c.strElem(&name)
	c.setClass(p, name)
}

func (c *codec) block(b *Block) {
	list(c, "instructions", &b.Code, false, c.instr)
	if c.member("positions") {
		c.positions(&b.Positions)
		c.done()
	}
	list(c, "regions", &b.Regions, false, c.region)
	list(c, "inlined", &b.Inlined, false, c.inlined)
	list(c, "locals", &b.Locals, false, c.local)
}

// inlined writes or reads an inlined call as "from to fN line:column", followed by its locals.
func (c *codec) inlined(i *Inlined) {
	if c.writing {
		c.out = jsonwrite.Plain.Append(c.out, i.text())
		return
	}
	c.peek()
	start := c.pos
	text := c.readString()
	got, ok := parseInlined(text)
	if !ok {
		c.fail(start, "malformed inlined call %q", text)
	}
	*i = got
}

func (c *codec) instr(i *Instr) {
	if c.writing {
		c.out = append(i.appendText(append(c.out, '"')), '"')
		return
	}
	c.peek()
	start := c.pos
	in, err := parseInstr(c.scanString())
	if err != nil {
		c.fail(start, "%v", err)
	}
	*i = in
}

// positions writes or reads all positions as one string: "pc:line:column pc:line:column …".
func (c *codec) positions(ps *[]Position) {
	if c.writing {
		c.out = append(c.out, '"')
		for i, p := range *ps {
			if i > 0 {
				c.out = append(c.out, ' ')
			}
			c.out = fmt.Appendf(c.out, "%d:%d:%d", p.PC, p.Line, p.Column)
		}
		c.out = append(c.out, '"')
		return
	}
	c.peek()
	start := c.pos
	*ps = nil
	for word := range strings.FieldsSeq(c.readString()) {
		a, rest, _ := strings.Cut(word, ":")
		b, d, _ := strings.Cut(rest, ":")
		pc, err1 := strconv.Atoi(a)
		line, err2 := strconv.Atoi(b)
		column, err3 := strconv.Atoi(d)
		if err1 != nil || err2 != nil || err3 != nil {
			c.fail(start, "malformed position %q", word)
		}
		*ps = append(*ps, Position{pc, line, column})
	}
}

// start writes or reads the start of a function as "line:column".
func (c *codec) start(p **Position) {
	if c.writing {
		c.out = fmt.Appendf(c.out, `"%d:%d"`, (*p).Line, (*p).Column)
		return
	}
	c.peek()
	at := c.pos
	text := c.readString()
	*p = &Position{}
	if n, err := fmt.Sscanf(text, "%d:%d", &(*p).Line, &(*p).Column); err != nil || n != 2 || text != fmt.Sprintf("%d:%d", (*p).Line, (*p).Column) {
		c.fail(at, "malformed place %q", text)
	}
}

// region writes or reads a region as "catch from to target rN".
func (c *codec) region(r *Region) {
	if c.writing {
		c.out = fmt.Appendf(c.out, `"catch %d %d %d r%d"`, r.From, r.To, r.Target, r.Register)
		return
	}
	c.peek()
	start := c.pos
	text := c.readString()
	words := strings.Split(text, " ")
	ok := len(words) == 5 && words[0] == "catch" && strings.HasPrefix(words[4], "r")
	if ok {
		words[4] = words[4][1:]
		for i, p := range []*int{&r.From, &r.To, &r.Target, &r.Register} {
			n, err := strconv.Atoi(words[i+1])
			*p, ok = n, ok && err == nil
		}
	}
	if !ok {
		c.fail(start, "malformed region %q", text)
	}
}

func (c *codec) listen(l *ListenInfo) {
	c.object(func() {
		c.int("host", &l.Host)
		c.flag("execute", &l.Execute)
		list(c, "handlers", &l.Handlers, false, c.handler)
	})
}

func (c *codec) handler(h *Handler) {
	c.object(func() {
		c.str("type", &h.Type)
		if c.member("param") {
			c.register(&h.Param)
			c.done()
		}
		c.int("schema", &h.Schema)
		c.flag("implicit", &h.Implicit)
		if (!c.writing || h.Start != nil) && c.member("start") {
			c.start(&h.Start)
			c.done()
		}
		c.block(&h.Block)
	})
}

func (c *codec) register(p *int) {
	if c.writing {
		c.out = fmt.Appendf(c.out, `"r%d"`, *p)
		return
	}
	c.peek()
	start := c.pos
	digits, ok := strings.CutPrefix(c.readString(), "r")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		c.fail(start, "expected a register")
	}
	*p = n
}

func (c *codec) method(m *Method) {
	c.object(func() {
		c.str("name", &m.Name)
		c.int("type", &m.Type)
		c.int("function", &m.Function)
	})
}

func (c *codec) limits(l *Limits) {
	if c.member("limits") {
		c.object(func() {
			c.optFloat("max_run_seconds", &l.MaxRunSeconds)
			c.optInt64("max_memory_mb", &l.MaxMemoryMB)
			c.optInt64("max_tokens", &l.MaxTokens)
			c.optFloat("max_cost_usd", &l.MaxCostUSD)
			c.optInt64("max_day_tokens", &l.MaxDayTokens)
			c.optFloat("max_day_cost_usd", &l.MaxDayCostUSD)
			c.optStr("day_file", &l.DayFile)
			c.optInt64("max_tasks", &l.MaxTasks)
			c.optFloat("max_test_seconds", &l.MaxTestSeconds)
		})
		c.done()
	}
}

func (c *codec) permissions(p **Permissions) {
	if c.member("permissions") {
		if !c.writing {
			*p = &Permissions{}
		}
		c.object(func() {
			list(c, "fs", &(*p).FS, false, c.strElem)
			list(c, "env", &(*p).Env, false, c.strElem)
			list(c, "net", &(*p).Net, false, c.strElem)
			list(c, "run", &(*p).Run, false, c.strElem)
			list(c, "open", &(*p).Open, false, c.strElem)
			c.flag("tools_limited", &(*p).ToolsLimited)
			list(c, "tools", &(*p).Tools, false, c.strElem)
			list(c, "approve", &(*p).Approve, false, c.strElem)
		})
		c.done()
	}
}

func (c *codec) test(t *Test) {
	c.object(func() {
		c.str("name", &t.Name)
		c.int("function", &t.Function)
		c.flag("expect_fail", &t.ExpectFail)
		c.optStr("expect", &t.Expect)
	})
}
