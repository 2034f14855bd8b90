package ir

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// everything returns a program that contains each structure and each kind of constant.
func everything(t testing.TB) *Program {
	p := sample(t, "LoadInt r1 -3\nLoadHost r3 d0\nLoadConst r4 k0\nLoadNil r5\nListenBegin r2 l0\nReturn r2")
	tokens, half := int64(100), 0.5
	p.Constants = append(p.Constants, text("a\"b\\c\n\t\r\x01é\U0001F600 "), whole(math.MinInt64), whole(math.MaxInt64),
		real(2), real(math.Copysign(0, -1)), real(1e300), real(0.1), real(math.Inf(1)), real(math.Inf(-1)))
	p.Types = append(p.Types, TypeInfo{Kind: "union", Values: []string{"low", "high"}},
		TypeInfo{Kind: "schema", Name: "S", Doc: "A schema.", Fields: []FieldInfo{{Name: "level", Type: 7, Optional: true, Doc: "How much."}}})
	p.Agents = append(p.Agents, Agent{Name: "B", Connection: "c", Model: "m", System: "Be brief.\n", Sampling: Sampling{Temperature: &half, TopP: &half, MaxTokens: &tokens, Seed: &tokens, Effort: "low",
		Stop: []string{"END"}}, Memory: -1, Timeout: 2.5, MaxToolRounds: 3, MaxToolCalls: 9, SchemaAttempts: 2, Retry: &Retry{2, "linear", 10, 20}})
	p.Hosts = append(p.Hosts, Host{Name: "I", Connector: "i", Params: json.RawMessage(`{"z":1.5,"a":[true,null]}`),
		Config: json.RawMessage(`{"command":"run","env":{"A":"1"},"timeout":1,"question_default":{"a":[1,null]}}`)})
	p.Servers = append(p.Servers, Server{Name: "S", Config: json.RawMessage(`{"url":"http://localhost"}`)})
	p.AppTools = append(p.AppTools, AppTool{Name: "t", Config: json.RawMessage(`{"name":"t","command":{"run":["a"]}}`)})
	p.Tools[0].Public = true
	listing := 5
	p.Tools[0].List = &listing
	p.Tools[0].Methods[0] = ToolMethod{Name: "m", Description: "Does.", Described: true, Function: 3, Params: []ToolParam{{Name: "x", Description: "what", Type: 0, Default: 4}}}
	p.Pipelines = append(p.Pipelines, Pipeline{Run: ToolMethod{Name: "P", Description: "Runs.", Function: 5, Params: []ToolParam{{Name: "x", Type: 0, Default: -1}}, Result: 1}, Stages: 2},
		Pipeline{Run: ToolMethod{Name: "Q"}, Stages: 1, Withheld: "x takes a function"})
	p.Stores = append(p.Stores, Store{Name: "w", Kind: "memory", Window: 4, Trim: 2})
	p.Limits = Limits{MaxRunSeconds: 1.5, MaxMemoryMB: 64, MaxTokens: 1000, MaxCostUSD: 2.5, MaxDayTokens: 5000, MaxDayCostUSD: 7.5, DayFile: "spent.db", MaxTasks: 8}
	p.Functions[4].Body = true
	p.Functions[4].OnUnknown = "retry"
	p.Permissions = &Permissions{FS: []string{"data"}, Env: []string{"HOME"}, Net: []string{"example.com:443"}, Run: []string{"git"}, ToolsLimited: true, Tools: []string{"Calc::add"}, Approve: []string{"category:db"}}
	p.Audit = "audit.log"
	p.Merges = []MergeQueue{{Name: "main", Config: json.RawMessage(`{"batch":4}`)}}
	p.Workspace = json.RawMessage(`{"base":"main"}`)
	p.Run = json.RawMessage(`{"journal":"runs","unknown":{"http":"retry"}}`)
	channel := "done"
	p.Outline = []Declaration{
		{Kind: DeclAgent, At: Place{1, 7}}, {Kind: DeclHost, Index: 1, File: 1, At: Place{2, 6}}, {Kind: DeclTool, Public: true, At: Place{3, 6}},
		{Kind: DeclStore, At: Place{4, 8}}, {Kind: DeclPipeline, Name: "P", At: Place{5, 10}}, {Kind: DeclStage, Name: "s", Index: 4, At: Place{6, 9}},
		{Kind: DeclFunction, Name: "main", At: Place{7, 4}, Uses: []Use{
			{Target: 3, By: -1, Method: "append", At: Place{8, 5}}, {Kind: UseEmit, Target: -1, By: -1, Channel: &channel, At: Place{8, 9}},
			{Kind: UseAwait, Target: -1, By: -1, At: Place{9, 5}}, {Kind: UseOffer, Target: 2, By: 0, At: Place{9, 7}}, {Kind: UseMemory, Target: 3, By: 0, At: Place{9, 9}},
			{Kind: UseListen, Target: 1, By: -1, At: Place{9, 11}, Handlers: []NamedHandler{{"question", 6, Place{9, 13}}, {"approval", -1, Place{9, 15}}}},
		}},
	}
	f := &p.Functions[0]
	f.File, f.Line = 0, 3
	f.Positions = []Position{{0, 3, 5}, {2, 4, 1}}
	f.Listens = []ListenInfo{{Host: 1, Execute: true, Handlers: []Handler{{Type: "question", Param: 3, Schema: 8, Block: Block{
		Code: code(t, "LoadNil r4\nBlockEnd r4"), Positions: []Position{{0, 5, 9}}, Regions: []Region{{0, 1, 1, 4}}}}, {Type: "tool_call", Param: 3, Schema: -1, Implicit: true,
		Block: Block{Code: code(t, "BlockReply r3")}}}}}
	f.Regions = []Region{{0, 1, 5, 2}}
	return p
}

// TestRoundTrip encodes a program and decodes it. Decoding must not depend on the layout or on the
// order of members.
func TestRoundTrip(t *testing.T) {
	p := everything(t)
	data := Encode(p)
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, got); d != "" {
		t.Errorf("Decode(Encode(p)) differs (-written +read):\n%s", d)
	}
	if second := Encode(got); !bytes.Equal(data, second) {
		t.Errorf("encoding the decoded program changes the bytes:\n%s", cmp.Diff(string(data), string(second)))
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, data, "", "\t"); err != nil {
		t.Fatalf("Encode did not write JSON: %v", err)
	}
	if got, err := Decode(spaced.Bytes()); err != nil || !bytes.Equal(Encode(got), data) {
		t.Errorf("decoding the indented text returns another program, error %v", err)
	}
	reordered := strings.Replace(string(data), `"name":"add","params":["Int","Int"],"abi":"typed"`, `"abi":"typed","params":["Int","Int"],"name":"add"`, 1)
	if reordered == string(data) {
		t.Fatal("the text to replace does not occur")
	}
	if got, err := Decode([]byte(reordered)); err != nil || !bytes.Equal(Encode(got), data) {
		t.Errorf("decoding with the members in another order returns another program, error %v", err)
	}
}

// TestDecodeSettings checks the two members that are decoded, and that the others are skipped.
func TestDecodeSettings(t *testing.T) {
	p := everything(t)
	data := Encode(p)
	got, err := DecodeSettings(data)
	if err != nil {
		t.Fatal(err)
	}
	want := &Program{Entry: -1, Connections: p.Connections}
	want.Run = p.Run
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	for _, bad := range [][]byte{data[:len(data)-3], append(data, 'x'), []byte(`{"version":"0"}`)} {
		if _, err := DecodeSettings(bad); err == nil {
			t.Errorf("%q… has been decoded", bad[:40])
		}
	}
}

// TestEveryFieldIsEncoded sets each field of the IR that is zero in the program of TestRoundTrip,
// and compares the program with its decoded form. A field that the codec does not know is reported.
func TestEveryFieldIsEncoded(t *testing.T) {
	p := everything(t)
	p.Stores = []Store{{Kind: "hashmap"}, {Kind: "memory"}, {Kind: "queue"}}
	fillZero(reflect.ValueOf(p).Elem(), 0)
	p.Called, p.Evals, p.Guard = nil, nil, nil // files do not contain them
	table, memory, queue := &p.Stores[0], &p.Stores[1], &p.Stores[2]
	table.MaxAttempts, table.RetrySeconds = 0, 0
	memory.Key, memory.Value, memory.MaxAttempts, memory.RetrySeconds = 0, 0, 0, 0
	queue.Key = 0
	got, err := Decode(Encode(p))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, got); d != "" {
		t.Errorf("format.go does not encode a field (-written +read):\n%s", d)
	}
}

// fillZero sets the exported fields in v that are zero. It limits the depth of types that contain
// themselves.
func fillZero(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		switch v.Interface().(type) {
		case Const, Instr, Position: // their members depend on each other
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillZero(v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			if depth > 3 {
				return
			}
			v.Set(reflect.New(v.Type().Elem()))
		}
		fillZero(v.Elem(), depth+1)
	case reflect.Slice:
		switch {
		case v.Type() == reflect.TypeFor[json.RawMessage]():
			if v.IsZero() {
				v.SetBytes([]byte("{}"))
			}
			return
		case v.Len() == 0 && depth < 4:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fillZero(v.Index(i), depth+1)
		}
	case reflect.String:
		if v.IsZero() {
			v.SetString("x")
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if v.IsZero() {
			v.SetInt(1)
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.IsZero() {
			v.SetUint(1)
		}
	case reflect.Float64:
		if v.IsZero() {
			v.SetFloat(1)
		}
	}
}

// TestEncodeSharedProgram encodes a program in several goroutines, as durable runs of a server do
// while others execute it. The race detector fails the test if Encode changes the program.
func TestEncodeSharedProgram(t *testing.T) {
	p := everything(t)
	want := Encode(p)
	for range 2 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			if got := Encode(p); !bytes.Equal(got, want) {
				t.Error("the programs differ")
			}
		})
	}
}

// TestLayoutMatchesManual compares the encoded form of a program with the layout that the manual
// describes.
func TestLayoutMatchesManual(t *testing.T) {
	p := &Program{Version: Version, Name: "x", Files: []File{{Name: "x.conc", Text: "a\n"}}, Constants: []Const{text("k"), whole(2), real(2), real(math.NaN())},
		Functions: []Function{{Name: "main", Line: 1, ABI: FullABI, Result: Full, Registers: 3, Block: Block{Code: code(t, "SubIntK r2 r1 -1\nJump @2\nReturnNil"),
			Positions: []Position{{0, 3, 5}, {1, 3, 9}}, Regions: []Region{{0, 1, 2, 1}}}}}}
	want := `{"version":"` + Version + `",
"name":"x",
"files":[
{"name":"x.conc","text":"a\n"}
],
"constants":[
"k",
2,
2.0,
{"float":"nan"}
],
"functions":[
{"name":"main","line":1,"abi":"full","result":"Full","registers":3,"instructions":["SubIntK r2 r1 -1","Jump @2","ReturnNil"],"positions":"0:3:5 1:3:9","regions":["catch 0 1 2 r1"]}
],
"entry":0
}
`
	if got := string(Encode(p)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDecodeErrors decodes invalid input. Each error must contain the reason and the byte offset.
func TestDecodeErrors(t *testing.T) {
	good := string(Encode(everything(t)))
	replace := func(old, with string) string {
		s := strings.Replace(good, old, with, 1)
		if s == good {
			t.Fatalf("the text to replace does not occur: %s", old)
		}
		return s
	}
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "the file is empty"},
		{"binary", "\x7fELF", "not a compiled Concerto program"},
		{"source", "fn main() {}", "not a compiled Concerto program"},
		{"other JSON", `{"name":"x"}`, "not a compiled Concerto program"},
		{"newer", replace(`"`+Version+`"`, `"1.99"`), "compiled by a newer concerto (IR 1.99, supported: " + Version + ")"},
		{"much newer", `{"version":"2.0","code":[]}`, "compiled by a newer concerto"},
		{"older", replace(`"`+Version+`"`, `"0.9"`), "compiled by an older concerto"},
		{"version's form", replace(`"`+Version+`"`, `"one"`), "not of the form"},
		{"truncated at once", `{"ver`, "truncated: it ends at byte 5"},
		{"unknown member", replace(`"name":"sample"`, `"nom":"sample"`), `unknown member "nom" at byte`},
		{"unknown instruction", replace(`"LoadInt r1 -3"`, `"LodInt r1 -3"`), `unknown instruction "LodInt" at byte`},
		{"operand's form", replace(`"LoadInt r1 -3"`, `"LoadInt k1 -3"`), "operand d should be written r<number>"},
		{"operand's range", replace(`"LoadInt r1 -3"`, `"LoadInt r256 -3"`), "operand d is out of range"},
		{"operand's number", replace(`"LoadInt r1 -3"`, `"LoadInt r1 -3000000000"`), "operand n is out of range"},
		{"operand missing", replace(`"LoadInt r1 -3"`, `"LoadInt r1"`), "operand n should be written"},
		{"operand too many", replace(`"LoadInt r1 -3"`, `"LoadInt r1 -3 4"`), "is not the text of a LoadInt instruction"},
		{"another spelling", replace(`"LoadInt r1 -3"`, `"LoadInt r01 -3"`), "operand d is out of range or not written as it should be"},
		{"class", replace(`"result":"Int"`, `"result":"Integer"`), `unknown register class "Integer"`},
		{"region", replace(`"catch 0 1 5 r2"`, `"catch 0 1 r2"`), "malformed region"},
		{"position", replace(`"0:3:5 2:4:1"`, `"0:3 2:4:1"`), `malformed position "0:3"`},
		{"string for number", replace(`"entry":0`, `"entry":"0"`), "expected an integer at byte"},
		{"list for object", replace(`"limits":{`, `"limits":[`), "expected '{', found '['"},
		{"control character", replace(`"name":"sample"`, "\"name\":\"sam\nple\""), "control character"},
		{"half a surrogate", replace(`"name":"sample"`, `"name":"\ud800"`), "malformed string"},
		{"bad UTF-8", replace(`"name":"sample"`, "\"name\":\"\xff\""), "not valid UTF-8"},
		{"trailing", good + "{}", "text after the end"},
		{"missing comma", replace(",\n\"files\"", "\n\"files\""), "expected ',' or '}'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode([]byte(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := Decode([]byte("{}")); !errors.Is(err, ErrNotIR) {
		t.Errorf("error %v does not wrap ErrNotIR", err)
	}
	if _, err := Decode([]byte(`{"version":"7.0"}`)); !errors.Is(err, ErrVersion) {
		t.Errorf("error %v does not wrap ErrVersion", err)
	}
}

// TestTruncated decodes every prefix of a file. Each must result in an error, without a panic.
func TestTruncated(t *testing.T) {
	randtest.InOneGoroutine(t)
	data := bytes.TrimSpace(Encode(everything(t)))
	for n := range len(data) {
		if _, err := Decode(data[:n]); err == nil {
			t.Fatalf("Decode accepts the first %d bytes of a file", n)
		}
	}
}

// TestTampered changes each byte of a file. If the changed file can be decoded, Verify must accept
// or reject it without a panic. If Verify accepts it, the program must survive encoding and
// decoding.
func TestTampered(t *testing.T) {
	randtest.InOneGoroutine(t)
	data := Encode(everything(t))
	for n := range data {
		for _, b := range []byte{'0', '9', '"', 'r', ',', '}', 0xff} {
			changed := bytes.Clone(data)
			changed[n] = b
			tryProgram(t, changed)
		}
	}
}

// tryProgram decodes and verifies data. Neither step may panic. If the program passes, tryProgram
// encodes and decodes it, and Verify must accept the copy.
func tryProgram(t *testing.T, data []byte) {
	p, err := Decode(data)
	if err != nil || Verify(p) != nil {
		return
	}
	decoded, err := Decode(Encode(p))
	if err != nil {
		t.Fatalf("cannot decode an encoded program that passed Verify: %v", err)
	}
	if err := Verify(decoded); err != nil {
		t.Fatalf("Verify rejects the decoded copy of a program that passed Verify: %v", err)
	}
	Disassemble(p)
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(everything(f)))
	f.Add([]byte(`{"version":"` + Version + `","functions":[{"name":"f","abi":"full","result":"Full","registers":1,"instructions":["ReturnNil"]}],"entry":0}`))
	f.Fuzz(func(t *testing.T, data []byte) { tryProgram(t, data) })
}

func TestDisassemble(t *testing.T) {
	got := DisassembleFunction(everything(t), 0)
	want := `f0 main() -> Full, full, 10 registers, main.conc:3
    0  3:5     LoadInt r1 -3
    1          LoadHost r3 d0                  ; H
    2  4:1     LoadConst r4 k0                 ; "text"
    3          LoadNil r5
    4          ListenBegin r2 l0
    5          Return r2
  catch [@0, @1) to @5, error in r2
  l0 on "question" => r3: S, host I, execute
      0  5:9     LoadNil r4
      1          BlockEnd r4
    catch [@0, @1) to @1, error in r4
  l0 on "tool_call" => r3, host I, execute, implicit
      0          BlockReply r3
`
	if got != want {
		t.Errorf("unexpected disassembly:\n%s", got)
	}
}

// TestFlatSections decodes a program of a version before 1.6. In these versions the configuration
// keys of hosts and servers were members of the hosts and servers themselves.
func TestFlatSections(t *testing.T) {
	p := sample(t, "LoadNil r1\nReturn r1")
	p.Version = "1.5"
	p.Servers = []Server{{Name: "S"}}
	text := string(Encode(p))
	text = strings.Replace(text, `{"name":"H","connector":"h"`, `{"name":"H","connector":"h","transport":"stdio","command":"run","args":["-x",""],`+
		`"env":[{"name":"B","value":"1"},{"name":"A","value":"\"2\""}],"working_dir":"w","input_format":"json","timeout":120.0,"question_timeout":1.5,`+
		`"question_default":{"a":[1]},"approval_default":"no","params_env":[{"name":"t","value":"T"}],"instances":2,"max_line":1024`, 1)
	text = strings.Replace(text, `{"name":"S"}`, `{"name":"S","transport":"http","url":"http://h","headers":[{"name":"X","value":"y"}],"headers_env":[],"timeout":5.0}`, 1)
	back, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	h := back.Hosts[0]
	if want := `{"transport":"stdio","command":"run","args":["-x",""],"env":{"B":"1","A":"\"2\""},"working_dir":"w","input_format":"json","timeout":120.0,` +
		`"question_timeout":1.5,"question_default":{"a":[1]},"approval_default":"no","params_env":{"t":"T"},"instances":2,"max_line":1024}`; string(h.Config) != want || string(h.Params) != `{"a":1}` {
		t.Errorf("config = %s, params = %s", h.Config, h.Params)
	}
	if got, want := string(back.Servers[0].Config), `{"transport":"http","url":"http://h","headers":{"X":"y"},"headers_env":{},"timeout":5.0}`; got != want {
		t.Error(got)
	}
	if err := Verify(back); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`"env":{"A":"1"}`, `"shape":1`, `"config":[],"command":"c"`} {
		damaged := strings.Replace(text, `"command":"run"`, bad, 1)
		if _, err := Decode([]byte(damaged)); err == nil {
			t.Errorf("Decode accepts %s", bad)
		}
	}
}
