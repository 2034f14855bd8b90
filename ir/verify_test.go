package ir

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func text(s string) Const  { return Const{String: &s} }
func whole(n int64) Const  { return Const{Int: &n} }
func real(f float64) Const { return Const{Float: &f} }

// code parses instructions.
func code(t testing.TB, lines string) []Instr {
	t.Helper()
	var out []Instr
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		i, err := ParseInstr(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, i)
	}
	return out
}

// sample returns a program that contains one element of each kind. Function 0 is main, with ten
// registers and the given code.
func sample(t testing.TB, main string) *Program {
	return &Program{
		Version: Version, Name: "sample",
		Files: []File{{Name: "main.conc", Text: "fn main() {}\n"}, {Name: "std/x.conc"}},
		Types: []TypeInfo{
			{Kind: "int"},
			{Kind: "struct", Name: "P", Fields: []FieldInfo{{Name: "x", Type: 0}, {Name: "next", Type: 1, Default: json.RawMessage(`null`)}}},
			{Kind: "enum", Name: "E", Variants: []VariantInfo{{Name: "A"}, {Name: "B", Fields: []FieldInfo{{Name: "0", Type: 0}}}}},
			{Kind: "array", Args: []int{0}},
			{Kind: "tool", Name: "T"},
			{Kind: "error"},
			{Kind: "any"},
		},
		Constants: []Const{text("text"), whole(5), real(1.5), text("message"), text("m")},
		Natives:   []string{"Array.sort"},
		Functions: []Function{
			{Name: "main", ABI: FullABI, Result: Full, Registers: 10, Line: 1, Block: Block{Code: code(t, main)}},
			{Name: "add", Params: []Class{Int, Int}, ABI: Typed, Result: Int, Registers: 4, Block: Block{Code: code(t, "AddInt r3 r1 r2\nReturnInt r3")}},
			{Name: "change", Params: []Class{Full}, ABI: FullABI, Result: Full, MutSelf: true, Registers: 2, Block: Block{Code: code(t, "ReturnNil")}},
			{Name: "closure", Params: []Class{Full}, ABI: FullABI, Result: Full, Captures: 1, Registers: 3, Block: Block{Code: code(t, "Captured r2 0\nReturn r2")}},
			{Name: "none", ABI: FullABI, Result: Full, Registers: 1, Block: Block{Code: code(t, "ReturnNil")}},
			{Name: "plain", Params: []Class{Full}, ABI: FullABI, Result: Full, Registers: 2, Block: Block{Code: code(t, "ReturnNil")}},
		},
		Methods:     []Method{{Name: "m", Type: 0, Function: 2}, {Name: "text", Type: 0, Function: 2}, {Name: "text", Type: 6, Function: 5}},
		Connections: []Connection{{Name: "c", Config: json.RawMessage(`{"provider":"scripted"}`)}},
		Agents:      []Agent{{Name: "A", Connection: "c", Memory: 0, Tools: []int{0}}},
		Hosts:       []Host{{Name: "H", Connector: "h", Params: json.RawMessage(`{"a":1}`), Tools: []int{0}}},
		Tools:       []Tool{{Name: "T", State: 4, Init: 4, Methods: []ToolMethod{{Name: "m", Function: 2, Result: 0}}}},
		Stores:      []Store{{Name: "s", Kind: "memory"}},
		Tests:       []Test{{Name: "t", Function: 4}},
		Entry:       0,
	}
}

// TestVerifyCode tests each rule about code with code that satisfies the rule (want is "") and with
// code that violates it.
func TestVerifyCode(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"plain", "LoadInt r1 1\nBoxInt r2 r1\nReturn r2", ""},
		{"full serves as int", "LoadConst r1 k1\nAddIntK r2 r1 1\nReturnNil", ""},
		{"unset", "Return r1", "r1, is not set"},
		{"int for full", "LoadInt r1 1\nReturn r1", "r1, is Int where Full is needed"},
		{"float for int", "LoadFloatConst r1 k2\nAddIntK r2 r1 1\nReturnNil", "r1, is Float where Int is needed"},
		{"int for bool", "LoadInt r1 1\nJumpIf r1 @2\nReturnNil", "r1, is Int where Bool is needed"},
		{"the link", "LoadInt r0 1\nReturnNil", "operand d: it is out of bounds"},
		{"beyond the registers", "LoadInt r10 1\nReturnNil", "operand d: it is out of bounds"},
		{"off the end", "LoadInt r1 1", "runs off the end"},
		{"jump too far", "Jump @2\nReturnNil", "operand to: it is out of bounds"},
		{"jump back", "LoadNil r1\nJump @0\nReturnNil", "operand to: it is out of bounds"},
		{"loop back", "LoadNil r1\nLoop @0\nReturnNil", ""},
		{"count", "LoadInt r1 0\nLoadInt r2 5\nForInt r1 r2 @2\nReturnNil", ""},
		{"count to the last", "LoadInt r1 0\nLoadInt r2 5\nForIntTo r1 r2 @2\nReturnNil", ""},
		{"constant", "LoadConst r1 k9\nReturnNil", "operand k: it is out of bounds"},
		{"int constant", "LoadIntConst r1 k0\nReturnNil", "the constant is no Int"},
		{"float constant", "LoadFloatConst r1 k1\nReturnNil", "the constant is no Float"},
		{"bool", "LoadBool r1 2\nReturnNil", "operand n: neither 0 nor 1"},
		{"zero divisor", "LoadInt r1 1\nDivIntK r1 r1 0\nReturnNil", "division by zero"},
		{"zero remainder", "LoadInt r1 1\nRemIntK r1 r1 0\nReturnNil", "division by zero"},
		{"join of classes", "LoadBool r1 1\nJumpIf r1 @4\nLoadInt r2 1\nJump @5\nLoadNil r2\nIsNil r3 r2\nReturnNil", "r2, is not set on every way"},
		{"join of one class", "LoadBool r1 1\nJumpIf r1 @4\nLoadNil r2\nJump @5\nLoadNil r2\nIsNil r3 r2\nReturnNil", ""},
		{"class lost in a loop", "LoadInt r1 1\nAddIntK r2 r1 1\nLoadBool r1 1\nLoop @1\nReturnNil", "r1, is not set on every way"},
		{"call", "LoadInt r2 1\nLoadInt r3 2\nCall r1 f1\nAddIntK r1 r1 1\nReturnNil", ""},
		{"argument missing", "LoadInt r2 1\nCall r1 f1\nReturnNil", "argument, r3, is not set"},
		{"argument class", "LoadNil r2\nLoadFloatConst r3 k2\nCall r1 f1\nReturnNil", "argument, r3, is Float where Int is needed"},
		{"above a window", "LoadNil r5\nLoadInt r2 1\nLoadInt r3 2\nCall r1 f1\nReturn r5", "r5, is not set"},
		{"below a window", "LoadNil r1\nLoadInt r3 1\nLoadInt r4 2\nCall r2 f1\nReturn r1", ""},
		{"argument after a call", "LoadInt r2 1\nLoadInt r3 2\nCall r1 f1\nAddIntK r1 r2 1\nReturnNil", "r2, is not set"},
		{"receiver after a mutating call", "LoadNil r2\nCall r1 f2\nReturn r2", ""},
		{"receiver after a native", "LoadNil r2\nCallNative r1 1 0 n0\nReturn r2", ""},
		{"window too large", "LoadNil r9\nCallNative r8 2 0 n0\nReturnNil", "beyond the registers"},
		{"array too large", "NewArray r1 r2 9\nReturnNil", "beyond the registers"},
		{"empty array at the top", "NewArray r1 r10 0\nReturnNil", ""},
		{"array of ints", "LoadInt r2 1\nNewArray r1 r2 1\nReturnNil", "argument, r2, is Int where Full is needed"},
		{"wrap", "CallNative r1 0 2 n0\nReturnNil", "operand wrap: neither 0 nor 1"},
		{"native", "CallNative r1 0 0 n1\nReturnNil", "operand x: it is out of bounds"},
		{"closure without captures", "LoadFunction r1 f3\nReturnNil", "cannot be called indirectly"},
		{"typed function as a value", "LoadFunction r1 f1\nReturnNil", "cannot be called indirectly"},
		{"direct call of a closure", "LoadNil r2\nCall r1 f3\nReturnNil", "needs a closure"},
		{"closure", "LoadNil r2\nNewClosure r1 r2 1 f3\nReturn r1", ""},
		{"number of captures", "NewClosure r1 r2 0 f3\nReturnNil", "takes 1 captures"},
		{"captured outside", "Captured r1 0\nReturnNil", "has 0 captures"},
		{"callee", "LoadInt r1 1\nCallClosure r1 0\nReturnNil", "callee, r1, is Int"},
		{"method name", "LoadNil r2\nCallMethod r1 1 k1\nReturnNil", "the constant is no String"},
		{"method receiver", "CallMethod r1 0 k0\nReturnNil", "needs a receiver"},
		{"receiver after a mutating method", "LoadNil r2\nCallMethod r1 1 k4\nReturn r2", ""},
		{"receiver after a mixed method", "LoadNil r2\nCallMethod r1 1 k0\nReturn r2", "r2, is not set"},
		{"struct", "LoadNil r1\nLoadNil r2\nNewStruct r1 r1 t1\nReturn r1", ""},
		{"struct of an int", "LoadNil r1\nNewStruct r1 r1 t0\nReturn r1", "int is no struct"},
		{"struct's fields", "LoadNil r1\nNewStruct r1 r1 t1\nReturn r1", "argument, r2, is not set"},
		{"variant", "LoadNil r1\nNewVariant r1 r1 1 t2\nReturn r1", ""},
		{"no variant", "LoadNil r1\nNewVariant r1 r1 2 t2\nReturn r1", "no such variant"},
		{"error field", "LoadNil r1\nErrorField r1 r1 k3\nReturn r1", ""},
		{"no error field", "LoadNil r1\nErrorField r1 r1 k0\nReturn r1", "no field of every error"},
		{"any operator", "LoadNil r1\nAnyBinary r1 r1 r1 9\nReturn r1", "unknown operator"},
		{"return class", "LoadInt r1 1\nReturnInt r1", "the function's result is Full"},
		{"emit's arguments", "AwaitEmit r1 3\nReturnNil", "one or two arguments"},
		{"agent", "LoadAgent r1 d1\nReturnNil", "operand x: it is out of bounds"},
		{"host", "LoadHost r1 d0\nReturn r1", ""},
		{"tool", "LoadTool r1 d1\nReturnNil", "operand x: it is out of bounds"},
		{"store", "LoadStore r1 d1\nReturnNil", "operand x: it is out of bounds"},
		{"type", "LoadType r1 t7\nReturnNil", "operand t: it is out of bounds"},
		{"spawn", "LoadNil r2\nSpawn r1 r2 1 f5\nAwait r1 r1\nReturn r1", ""},
		{"spawn's arguments", "Spawn r1 r2 1 f5\nReturn r1", "argument, r2, is not set"},
		{"spawn's arity", "LoadNil r2\nSpawn r1 r2 1 f4\nReturn r1", "takes 0 arguments"},
		{"spawn of a closure", "LoadNil r2\nSpawn r1 r2 1 f3\nReturn r1", "1 captures"},
		{"spawn of a typed function", "LoadInt r2 1\nLoadInt r3 1\nSpawn r1 r2 2 f1\nReturn r1", "abi typed"},
		{"await", "LoadInt r1 1\nAwait r1 r1\nReturn r1", "r1, is Int where Full is needed"},
		{"join", "LoadNil r2\nLoadNil r3\nJoinAll r1 r2 2\nReturn r1", ""},
		{"join keeps registers", "LoadNil r2\nLoadNil r3\nJoinAll r1 r2 1\nReturn r3", ""},
		{"join's elements", "LoadNil r2\nJoinAll r1 r2 2\nReturn r1", "argument, r3, is not set"},
		{"race of no tasks", "Race r1 r2 0\nReturn r1", "a race of no tasks"},
		{"loop's window", "LoadNil r8\nLoadNil r9\nParallelFor r1 r8\nReturn r1", "beyond the registers"},
		{"leaving no body", "LoadNil r1\nReturnLeft r1 0", "outside the body of a concurrent expression"},
		{"listen", "ListenBegin r1 l0\nReturnNil", "operand l: it is out of bounds"},
		{"block end in a function", "LoadNil r1\nBlockEnd r1", "outside a handler"},
		{"slice", "LoadNil r1\nLoadNil r2\nLoadNil r3\nSlice r1 r1 r2 1\nReturn r1", ""},
		{"slice's end", "LoadNil r1\nLoadNil r2\nSlice r1 r1 r2 1\nReturn r1", "argument, r3, is not set"},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, Verify(sample(t, c.code)), c.want) })
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("Verify rejects a valid program: %v", err)
	case want != "" && err == nil:
		t.Errorf("Verify accepts an invalid program, want error %q", want)
	case want != "" && (!strings.Contains(err.Error(), want) || !errors.Is(err, ErrInvalid)):
		t.Errorf("Verify returned %v, want %q", err, want)
	}
}

// TestVerifyRegions tests the rules about regions.
func TestVerifyRegions(t *testing.T) {
	const body = `LoadNil r1
		LoadInt r2 1
		AddIntK r3 r2 1
		Jump @6
		Move r5 r4
		Jump @6
		ReturnNil`
	for _, c := range []struct {
		name    string
		code    string
		regions []Region
		want    string
	}{
		{"good", body, []Region{{1, 3, 4, 4}}, ""},
		{"nested", body, []Region{{1, 2, 4, 4}, {0, 3, 4, 4}}, ""},
		{"wrong order", body, []Region{{0, 3, 4, 4}, {1, 2, 4, 4}}, "overlap or are in the wrong order"},
		{"overlap", body, []Region{{0, 2, 4, 4}, {1, 3, 4, 4}}, "overlap"},
		{"empty", body, []Region{{1, 1, 4, 4}}, "out of bounds"},
		{"backwards", body, []Region{{4, 6, 0, 4}}, "out of bounds"},
		{"beyond", body, []Region{{1, 3, 9, 4}}, "out of bounds"},
		{"register", body, []Region{{1, 3, 4, 0}}, "no register"},
		{"set within only", "LoadNil r1\nLoadNil r2\nReturnNil\nReturn r2", []Region{{0, 2, 3, 4}}, "r2, is not set"},
		{"set before", "LoadNil r2\nLoadNil r1\nReturnNil\nReturn r2", []Region{{1, 2, 3, 4}}, ""},
		{"class changes within", "LoadNil r2\nLoadInt r2 1\nLoadInt r3 1\nReturnNil\nReturn r2", []Region{{1, 3, 4, 4}}, "r2, is not set"},
		{"window on the way out", "LoadInt r3 1\nLoadInt r4 1\nLoadNil r2\nCall r2 f1\nReturnNil\nReturn r2", []Region{{3, 4, 5, 9}}, "r2, is not set"},
		{"receiver on the way out", "LoadNil r3\nCall r2 f2\nReturnNil\nReturn r3", []Region{{1, 2, 3, 9}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sample(t, c.code)
			p.Functions[0].Regions = c.regions
			wantError(t, Verify(p), c.want)
		})
	}
}

// TestVerifyListens tests the rules about handlers.
func TestVerifyListens(t *testing.T) {
	const body = "LoadInt r1 0\nLoadHost r3 d0\nLoadConst r4 k0\nLoadNil r5\nListenBegin r2 l0\nBoxInt r1 r1\nReturn r2"
	handler := func(lines string) Handler {
		return Handler{Type: "question", Param: 3, Schema: -1, Block: Block{Code: code(t, lines)}}
	}
	for _, c := range []struct {
		name, body string
		change     func(f *Function)
		want       string
	}{
		{"good", body, func(f *Function) { f.Listens[0].Handlers = []Handler{handler("AddIntK r1 r1 1\nBlockEnd r3")} }, ""},
		{"reply", body, func(f *Function) { f.Listens[0].Handlers = []Handler{handler("NewOk r4 r3\nBlockReply r4")} }, ""},
		{"return in a handler", body, func(f *Function) { f.Listens[0].Handlers = []Handler{handler("Return r3")} }, "within a handler"},
		{"class lost in a handler", body, func(f *Function) { f.Listens[0].Handlers = []Handler{handler("LoadNil r1\nBlockEnd r3")} }, "r1, is not set"},
		{"window in a handler", body, func(f *Function) { f.Listens[0].Handlers = []Handler{handler("BlockEnd r4")} }, "r4, is not set"},
		{"result in a handler", body, func(f *Function) { f.Listens[0].Handlers = []Handler{handler("BlockEnd r2")} }, "r2, is not set"},
		{"off the end", body, func(f *Function) { f.Listens[0].Handlers = []Handler{handler("LoadNil r3")} }, "runs off the end"},
		{"parameter", body, func(f *Function) {
			f.Listens[0].Handlers = []Handler{{Type: "x", Param: 10, Schema: -1, Block: Block{Code: code(t, "LoadNil r3\nBlockEnd r3")}}}
		}, "no register"},
		{"schema", body, func(f *Function) {
			f.Listens[0].Handlers = []Handler{{Type: "x", Param: 3, Schema: 7, Block: Block{Code: code(t, "BlockEnd r3")}}}
		}, "no type 7"},
		{"host", body, func(f *Function) { f.Listens[0].Host = 1 }, "no host 1"},
		{"never begun", "ReturnNil", func(f *Function) {}, "begun at 0 places"},
		{"begun twice", strings.Replace(body, "BoxInt r1 r1", "ListenBegin r2 l0", 1), func(f *Function) {}, "begun at 2 places"},
		{"nested", body, func(f *Function) {
			f.Listens[0].Handlers = []Handler{handler("Move r6 r3\nMove r7 r3\nLoadNil r8\nListenBegin r5 l1\nBlockEnd r5")}
			f.Listens = append(f.Listens, ListenInfo{Host: -1, Handlers: []Handler{{Type: "q", Param: 6, Schema: -1, Block: Block{Code: code(t, "AddIntK r1 r1 1\nBlockEnd r3")}}}})
		}, ""},
		{"inner handler's window", body, func(f *Function) {
			f.Listens[0].Handlers = []Handler{handler("Move r6 r3\nMove r7 r3\nLoadNil r8\nListenBegin r5 l1\nBlockEnd r5")}
			f.Listens = append(f.Listens, ListenInfo{Host: -1, Handlers: []Handler{{Type: "q", Param: 6, Schema: -1, Block: Block{Code: code(t, "BlockEnd r7")}}}})
		}, "r7, is not set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sample(t, c.body)
			p.Functions[0].Listens = []ListenInfo{{Host: 0}}
			c.change(&p.Functions[0])
			wantError(t, Verify(p), c.want)
		})
	}
}

// outlineUse returns a change that adds an outline of a function and a host. The function has a
// use.
func outlineUse(u Use) func(p *Program) {
	return func(p *Program) {
		p.Outline = []Declaration{{Kind: DeclFunction, Name: "main", Uses: []Use{u}}, {Kind: DeclHost}}
	}
}

// TestVerifyTables tests the rules about all parts of a program except code.
func TestVerifyTables(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Program)
		want   string
	}{
		{"good", func(p *Program) {}, ""},
		{"type kind", func(p *Program) { p.Types[0].Kind = "number" }, "unknown kind"},
		{"type arguments", func(p *Program) { p.Types[3].Args = nil }, "takes 1 types"},
		{"type argument", func(p *Program) { p.Types[3].Args[0] = 9 }, "no type 9"},
		{"type within itself", func(p *Program) { p.Types[3].Args[0] = 3 }, "holds itself"},
		{"field type", func(p *Program) { p.Types[1].Fields[0].Type = -1 }, "no type -1"},
		{"field default", func(p *Program) { p.Types[1].Fields[1].Default = json.RawMessage(`{`) }, "not JSON"},
		{"constant without value", func(p *Program) { p.Constants[0] = Const{} }, "has 0 values"},
		{"constant with two", func(p *Program) { p.Constants[0].Int = p.Constants[1].Int }, "has 2 values"},
		{"constant text", func(p *Program) { p.Constants[0] = text("\xff") }, "not valid UTF-8"},
		{"agent's tool", func(p *Program) { p.Agents[0].Tools[0] = 1 }, "no tool 1"},
		{"agent's memory", func(p *Program) { p.Stores[0].Kind = "ledger" }, "is no memory"},
		{"host's params", func(p *Program) { p.Hosts[0].Params = json.RawMessage(`[1]`) }, "not a JSON object"},
		{"host's section", func(p *Program) { p.Hosts[0].Config = json.RawMessage(`[1]`) }, "not a JSON object"},
		{"application tool", func(p *Program) { p.AppTools = []AppTool{{Name: "t", Config: json.RawMessage(`[]`)}} }, "tool t: config is not a JSON object"},
		{"server's section", func(p *Program) { p.Servers = []Server{{Name: "S", Config: json.RawMessage(`1`)}} }, "not a JSON object"},
		{"connection", func(p *Program) { p.Connections[0].Config = nil }, "not a JSON object"},
		{"store kind", func(p *Program) { p.Agents[0].Memory, p.Stores[0].Kind = -1, "file" }, `kind "file"`},
		{"tool state", func(p *Program) { p.Tools[0].State = 1 }, "no tool type"},
		{"tool init", func(p *Program) { p.Tools[0].Init = 2 }, "takes arguments"},
		{"tool arguments", func(p *Program) { p.Tools[0].Methods[0].Params = []ToolParam{{Default: -1}} }, "takes 1 arguments, not 2"},
		{"tool default", func(p *Program) {
			p.Tools[0].Methods[0].Params = []ToolParam{{Default: 1}}
			p.Functions[2].Params = []Class{Full, Full}
			p.Functions[2].Registers = 3
		}, "cannot be called indirectly"},
		{"tool call", func(p *Program) { n := 5; p.Tools[0].Call = &n }, "takes 1 arguments, not 3"},
		{"pipeline arguments", func(p *Program) { p.Pipelines = []Pipeline{{Run: ToolMethod{Name: "P", Function: 5}}} }, "takes 1 arguments, not 0"},
		{"pipeline function", func(p *Program) { p.Pipelines = []Pipeline{{Run: ToolMethod{Name: "P", Function: 1}}} }, "cannot be called indirectly"},
		{"method function", func(p *Program) { p.Methods[0].Function = 1 }, "cannot be called indirectly"},
		{"method receiver", func(p *Program) { p.Methods[0].Function = 4 }, "no receiver"},
		{"method type", func(p *Program) { p.Methods[0].Type = 99 }, "no type 99"},
		{"test", func(p *Program) { p.Tests[0].Function = 3 }, "cannot be called indirectly"},
		{"entry", func(p *Program) { p.Entry = 9 }, "no function 9"},
		{"no entry", func(p *Program) { p.Entry = -1 }, ""},
		{"file", func(p *Program) { p.Functions[1].File = 2 }, "no file 2"},
		{"registers", func(p *Program) { p.Functions[1].Registers = 2 }, "2 registers for 2 parameters"},
		{"too many registers", func(p *Program) { p.Functions[1].Registers = 241 }, "241 registers"},
		{"abi", func(p *Program) { p.Functions[1].ABI = "fast" }, "unknown abi"},
		{"full with a class", func(p *Program) { p.Functions[1].ABI = FullABI }, "abi full with a typed"},
		{"body's parameters", func(p *Program) { p.Functions[1].Body = true }, "a body with abi typed and 2 parameters"},
		{"body spawned", func(p *Program) {
			p.Functions[5].Body = true
			p.Functions[0].Code = code(t, "LoadNil r2\nSpawn r1 r2 1 f5\nReturn r1")
		}, "takes 1 arguments"},
		{"mutself", func(p *Program) { p.Functions[1].MutSelf = true }, "mutself without a Full receiver"},
		{"no code", func(p *Program) { p.Functions[4].Code = nil }, "no instructions"},
		{"op", func(p *Program) { p.Functions[4].Code[0].Op = Op(len(Table)) }, "there is no op"},
		{"positions", func(p *Program) { p.Functions[4].Positions = []Position{{0, 1, 1}, {0, 1, 2}} }, "position 0:1:2"},
		{"outline", func(p *Program) { p.Outline = everything(t).Outline[:1] }, ""},
		{"outline's kind", func(p *Program) { p.Outline = []Declaration{{Kind: "type"}} }, `unknown kind "type"`},
		{"outline's index", func(p *Program) { p.Outline = []Declaration{{Kind: DeclHost, Index: 1}} }, "there is no host 1"},
		{"outline's file", func(p *Program) { p.Outline = []Declaration{{Kind: DeclHost, File: 2}} }, "there is no file 2"},
		{"outline's stage", func(p *Program) { p.Outline = []Declaration{{Kind: DeclStage}} }, "there is no stage 0"},
		{"outline's target", outlineUse(Use{Target: 3, By: -1}), "cannot use declaration 3"},
		{"outline's listen", outlineUse(Use{Kind: UseListen, Target: 0, By: -1}), "cannot use declaration 0"},
		{"outline's emit", outlineUse(Use{Kind: UseEmit, Target: 0, By: -1}), "cannot use declaration 0"},
		{"outline's offer", outlineUse(Use{Kind: UseOffer, Target: 1, By: 0}), "cannot use declaration 1"},
		{"outline's memory", outlineUse(Use{Kind: UseMemory, Target: 1, By: 0}), "cannot use declaration 1"},
		{"outline's use", outlineUse(Use{Kind: "call", Target: 1, By: 0}), `in the way "call"`},
		{"outline's handler", outlineUse(Use{Kind: UseListen, Target: 1, By: -1, Handlers: []NamedHandler{{"q", 1, Place{}}}}), "no function 1 handles"},
		{"position beyond", func(p *Program) { p.Functions[4].Positions = []Position{{1, 1, 1}} }, "position 1:1:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sample(t, "LoadNil r1\nReturn r1")
			c.change(p)
			wantError(t, Verify(p), c.want)
		})
	}
}
