package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// command builds the `concerto` command once and returns its path.
var command = testproc.Command

func TestMain(m *testing.M) {
	code := m.Run()
	testproc.RemoveCommand()
	os.Exit(code)
}

// kit is an SDK for applications, with the data to start its probe.
type kit struct {
	name, needs string
	argv        []string
}

var kits = []kit{
	{"python", "python3", []string{"python3", "-X", "dev", "testdata/app.py"}},
	{"typescript", "node", []string{"node", "testdata/app.mjs"}},
}

// app is a running probe. Each line of its output is a JSON array.
type app struct {
	*testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	errs bytes.Buffer
}

// webSockets reports whether Node supports WebSockets only with a flag, as versions before 22 do.
var webSockets = sync.OnceValue(func() bool {
	return exec.Command("node", "-e", "WebSocket").Run() != nil && exec.Command("node", "--experimental-websocket", "-e", "WebSocket").Run() == nil
})

// starts starts the probe of a kit.
func (k kit) starts(t *testing.T, env []string, args ...string) *app {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	argv := slices.Concat(k.argv, args)
	if k.needs == "node" && webSockets() {
		argv = slices.Insert(argv, 1, "--experimental-websocket")
	}
	a := &app{T: t, cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	a.cmd.Env = append(append(os.Environ(), "PYTHONPATH=python", "PYTHONDONTWRITEBYTECODE=1"), env...)
	a.cmd.Stderr = &a.errs
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err == nil {
		err = a.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	a.out = bufio.NewScanner(out)
	a.out.Buffer(nil, 16<<20)
	return a
}

// ids matches the IDs of connections in the output of a probe.
var ids = regexp.MustCompile(`\bc_[0-9a-z]+`)

// next returns the next output line of the probe in the form in which Go encodes JSON. At the end
// of the output it returns "".
func (a *app) next() string {
	a.Helper()
	if !a.out.Scan() {
		return ""
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(a.out.Bytes()))
	d.UseNumber()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := errors.Join(d.Decode(&v), e.Encode(v)); err != nil {
		a.Fatalf("output of the application is not JSON: %v: %s", err, a.out.Text())
	}
	return ids.ReplaceAllString(strings.TrimSpace(b.String()), "c_")
}

// expect requires that the next output lines are lines.
func (a *app) expect(lines ...string) {
	a.Helper()
	for _, want := range lines {
		if got := a.next(); got != want {
			a.Fatalf("the application prints\n%s\nwant\n%s\n%s", got, want, a.errs.String())
		}
	}
}

// rest returns the remaining output lines and requires that the probe exits with code 0.
func (a *app) rest() (lines []string) {
	a.Helper()
	for line := a.next(); line != ""; line = a.next() {
		lines = append(lines, line)
	}
	if err := a.cmd.Wait(); err != nil {
		a.Errorf("the application failed: %v\n%s", err, a.errs.String())
	}
	return lines
}

// kitsOn runs a test for each kit on each of the transports.
func kitsOn(t *testing.T, transports []transport, test func(t *testing.T, k kit, x transport)) {
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range transports {
		x.command = path
		for _, k := range kits {
			t.Run(k.name+"/"+x.name, func(t *testing.T) {
				t.Parallel()
				if _, err := exec.LookPath(k.needs); err != nil {
					t.Skipf("%s is not installed", k.needs)
				}
				test(t, k, x)
			})
		}
	}
}

// flow is the expected output of the scenario "flow", which is the same for every language and
// transport.
var flow = strings.Split(`["dense",true]
["state","running",null]
["emit","inputs",{"n":9007199254740991},false]
["tool","start","stock","Clerk","agent",null]
["emit","tool:progress",{"message":"counting","progress":1,"tool":"stock","total":2},false]
["emit","shelf",[{"TEAM":"a"},{"user":"ada"},"Clerk","agent",["stock"]],false]
["tool","start","double","stock","tool",null]
["emit","route",["tool","stock",["stock","double"]],false]
["tool","end","double","stock","tool","ok"]
["tool","end","stock","Clerk","agent","ok"]
["emit","clerk","seven",false]
["print",null,"printed\n",false]
["tool","start","fails","called","dispatch",null]
["tool","end","fails","called","dispatch","failed"]
["emit","fails","failed: no disk",false]
["tool","start","refuses","called","dispatch",null]
["tool","end","refuses","called","dispatch","failed"]
["emit","refuses","failed: not today",false]
["tool","start","no_json","called","dispatch",null]
["tool","end","no_json","called","dispatch","failed"]
["emit","no_json","failed: the handler returned a value that is not JSON: a function is not a JSON value",false]
["tool","start","large","called","dispatch",null]
["tool","end","large","called","dispatch","ok"]
["emit","large",100000,false]
["emit","approve",{"sku":"a1"},true]
["emit","broken",1,true]
["emit","nobody",null,true]
["state","done",{"approve":"yes, a1","broken":"refused: broken 1","nobody":"refused: no handler for channel 'nobody': define one with c.on_await(\"nobody\", f)"}]
["result",{"approve":"yes, a1","broken":"refused: broken 1","nobody":"refused: no handler for channel 'nobody': define one with c.on_await(\"nobody\", f)"},"done",2]
["again",true,true]
["tools",["double","fails","large","no_json","refuses","stock","too_large"],["stock"]]
["call",{"twice":"aa"}]
["arguments",["ToolError","arguments","bad arguments for double: text: expected string, got 1"]]
["missing",["ToolError","not_found","unknown tool 'treble'"]]
["too large",["ToolError","failed","a message of 1000067 bytes exceeds the server's limit of 1000000 (--max-message)"]]
["unregister",true,false]
["gone",["ToolError","not_found","unknown tool 'double'"]]
["duplicate",["RequestError",-32010,"tool 'fails@1' is registered already, by client:c_"]]
["fails",["SessionError","RuntimeError","index 5 is out of range: the length is 0",["at","main"]]]
["wrong",["RequestError",-32020,"the program does not compile\nwrong.conc:2:18: error[E0301]: expected `+"`Int`, found `String`"+`\n  hint: write an integer, such as `+"`1`"+`"]]
["no program",["RequestError",-32602,"invalid parameters: program.path: none.conc: no such file or directory"]]
["budget",["RequestError",-32602,"invalid parameters: budget.max_tokens: expected at least 0, got -1"]]
["cancelled",true]
["cancel",["SessionError","cancelled","enough of it",[]],"cancelled"]
["cancelled",true]
["taken back",true]
["closed",["ConnectionLost","this connection to concerto was closed"]]`, "\n")

// TestApplication checks that an application in every language and on every transport can use every
// feature and receives the same messages.
func TestApplication(t *testing.T) {
	kitsOn(t, transports, func(t *testing.T, k kit, x transport) {
		s := x.start(t)
		var want []string
		for i, line := range flow {
			// promises in JavaScript cannot be cancelled
			if k.name == "typescript" && (i == len(flow)-3 || i == len(flow)-2) {
				continue
			}
			want = append(want, line)
		}
		if diff := cmp.Diff(want, k.starts(t, s.env, "flow", s.url, s.token).rest()); diff != "" {
			t.Errorf("output of the application (-want +got):\n%s", diff)
		}
	})
}

// TestServerDies checks that all pending calls fail when the server is killed.
func TestServerDies(t *testing.T) {
	kitsOn(t, transports, func(t *testing.T, k kit, x transport) {
		s := x.start(t)
		a := k.starts(t, s.env, "dies", s.url, s.token)
		a.expect(`["hangs"]`)
		s.kill(t)
		for _, line := range a.rest() {
			var what []any
			if err := json.Unmarshal([]byte(line), &what); err != nil {
				t.Fatal(err)
			}
			lost, _ := what[1].([]any)
			if len(lost) != 2 || lost[0] != "ConnectionLost" || !strings.Contains(lost[1].(string), s.dead) {
				t.Errorf("the application prints %s\nwant %s", line, s.dead)
			}
		}
	})
}

// TestReconnects closes the connection at different times and checks that no message is lost or
// processed twice.
func TestReconnects(t *testing.T) {
	kitsOn(t, network, func(t *testing.T, k kit, x transport) {
		s := x.start(t)
		a := k.starts(t, s.env, "steps", s.url, s.token)
		for i := range 6 {
			a.expect(fmt.Sprintf(`["step",%d]`, i))
			if i%2 == 0 { // before the tool answers
				s.way.cut()
			}
			fmt.Fprintln(a.in)
			if i%3 == 0 { // while the tool's answer is being sent
				s.way.cut()
			}
		}
		want := []string{`["dense",true]`, `["steps",[0,10,20,30,40,50]]`, `["result",150]`}
		if diff := cmp.Diff(want, a.rest()); diff != "" {
			t.Errorf("output of the application (-want +got):\n%s", diff)
		}
	})
}

// TestServerReplaced replaces the server by another one. The tools must be registered with the new
// server, and lost sessions must be reported.
func TestServerReplaced(t *testing.T) {
	kitsOn(t, network, func(t *testing.T, k kit, x transport) {
		s := x.start(t)
		a := k.starts(t, s.env, "renewed", s.url, s.token)
		a.expect(`["hangs"]`)
		s.restart(t)
		want := []string{`["lost",["SessionError","lost"],true,true]`, `["again",15]`}
		if diff := cmp.Diff(want, a.rest()); diff != "" {
			t.Errorf("output of the application (-want +got):\n%s\n%s", diff, a.errs.String())
		}
	})
}

// TestNoServer checks that the error without a server contains the command that starts one.
func TestNoServer(t *testing.T) {
	kitsOn(t, transports, func(t *testing.T, k kit, x transport) {
		s := x.start(t)
		wrong, url, env := `refused the token: pass connect(url, token) the token that the server prints when it starts`, s.url, s.env
		hint := "start it with `concerto serve --http 127.0.0.1:"
		if s.way == nil {
			wrong, hint = "unknown flag --nonsense", "could not start concerto.nowhere: not found: install concerto, or set its path"
			env = append(env, "FLAG=--nonsense")
		}
		refused := k.starts(t, env, "connects", url, "wrong").rest()
		if s.way == nil {
			env = []string{"CONCERTO=concerto.nowhere"}
		} else {
			s.way.Close()
			s.way.cut()
		}
		for want, got := range map[string][]string{wrong: refused, hint: k.starts(t, env, "connects", url, "wrong").rest()} {
			if len(got) != 1 || !strings.HasPrefix(got[0], `["ConnectionLost",`) || !strings.Contains(got[0], want) {
				t.Errorf("the application prints %q\nwant %s", got, want)
			}
		}
	})
}

// TestHints checks that the schema of a Python tool follows the type hints of the function, and
// that the arguments have these types.
func TestHints(t *testing.T) {
	kitsOn(t, transports[:1], func(t *testing.T, k kit, x transport) {
		if k.name != "python" {
			t.Skip("TypeScript's types do not exist at run time: tools declare their schemas")
		}
		want := []string{
			`["Finds a thing.",{"$defs":{"Filter":{"additionalProperties":false,"properties":{"colour":{"type":"string"}},"required":[],"type":"object"},` +
				`"Place":{"additionalProperties":false,"description":"Where it stands.","properties":{"box":{"type":["string","null"]},"next":{"anyOf":[{"$ref":"#/$defs/Place"},{"type":"null"}]},"shelf":{"type":"integer"}},"required":["shelf"],"type":"object"}},` +
				`"additionalProperties":false,"properties":{"any":{},"count":{"type":"integer"},"filter":{"$ref":"#/$defs/Filter"},"kind":{"default":"a","enum":["a","b"]},"more":{"additionalProperties":{"type":"boolean"},"type":"object"},` +
				`"note":{"type":["string","null"]},"places":{"anyOf":[{"items":{"$ref":"#/$defs/Place"},"type":"array"},{"type":"null"}]},"price":{"default":1.5,"type":"number"},"sku":{"description":"its number","type":"string"}},` +
				`"required":["sku","count","filter","more"],"type":"object"}]`,
			`[["a",2,["float",3.0],"a",["Place"],"x",null,{"colour":"red"},{"a":true},null]]`,
			`[["a",2,["float",1.5],"a",null,null,null,{},{},null]]`,
			`[["ToolError","arguments","bad arguments for find: count: missing; filter: missing; more: missing; sku: missing"]]`,
			`[["ToolError","arguments","bad arguments for find: count: expected integer, got 1.5; filter.size: unknown; kind: expected \"a\" or \"b\", got \"c\"; more.a: expected boolean, got 1; other: unknown; sku: expected string, got 1"]]`,
			`["tool 'date': d: complex has no JSON Schema: use str, int, float, bool, list[T], dict[str, T], Optional[T], Literal[…], an Enum, a dataclass or a TypedDict, or pass ` + "`parameters`" + `, a JSON Schema"]`,
			`["tool 'nothing' has no description: write @c.tool(description=\"…\") or a docstring, so that models know when to call it"]`,
			`["tool 'many': *args has no schema: name the parameters, or pass ` + "`parameters`" + `, a JSON Schema"]`,
			"[\"tool 'three': with `parameters` the function must accept (input, ctx), and it accepts (a, b, c)\"]",
		}
		s := x.start(t)
		if diff := cmp.Diff(want, k.starts(t, s.env, "hints", s.url).rest()); diff != "" {
			t.Errorf("output of the application (-want +got):\n%s", diff)
		}
	})
}
