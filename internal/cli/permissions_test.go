package cli

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/testllm"
	"github.com/concerto-lang/concerto/internal/testkit/testmcp"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// touching contains programs for each effect that requires a permission. A program performs the
// effect and prints ok. Effects of MCP servers have two programs, one for each transport.
var touching = map[effect.Kind][]string{
	effect.KindReadFile:   {`use std::fs; fn main() { fs::read_file("data/in")?; println("ok"); }`},
	effect.KindAttachFile: {`agent A uses scripted {} fn main() { A.with_files(["data/in"]).execute("x")?; println("ok"); }`},
	effect.KindWriteFile:  {`use std::fs; fn main() { fs::write_file("data/new", "x")?; println("ok"); }`},
	effect.KindFileInfo:   {`use std::fs; fn main() { if fs::exists("data/in") { println("ok"); } }`},
	effect.KindListDir:    {`use std::fs; fn main() { fs::list_dir("data")?; println("ok"); }`},
	effect.KindRemoveFile: {`use std::fs; fn main() { fs::remove_file("data/in")?; println("ok"); }`},
	effect.KindMakeDir:    {`use std::fs; fn main() { fs::make_dir("data/d")?; println("ok"); }`},
	effect.KindCopyFile:   {`use std::fs; fn main() { fs::copy_file("data/in", "copy")?; println("ok"); }`},
	effect.KindMoveFile:   {`use std::fs; fn main() { fs::move_file("data/in", "moved")?; println("ok"); }`},
	effect.KindWalk:       {`use std::fs; fn main() { if fs::walk("data")?.len() == 1 { println("ok"); } }`},
	effect.KindGlob:       {`use std::fs; fn main() { if fs::glob("data/*")?.len() == 1 { println("ok"); } }`},
	effect.KindTempDir:    {`use std::fs; fn main() { fs::write_file("${fs::temp_dir()}/x", "x")?; println("ok"); }`},

	effect.KindStoreRead:    {storing(`h.get("a")`)},
	effect.KindStoreWrite:   {storing(`h.set("a", 1)`)},
	effect.KindStoreAdd:     {storing(`h.increment("a")`)},
	effect.KindStoreDelete:  {storing(`h.delete("a")`)},
	effect.KindStoreList:    {storing(`h.keys()`)},
	effect.KindStoreLen:     {storing(`h.len()`)},
	effect.KindStoreClear:   {storing(`h.clear()`)},
	effect.KindStoreExpire:  {`@cache(60, persist: "s.db") fn f(n: Int) -> Int { n } fn main() { f(1); println("ok"); }`},
	effect.KindLedgerPut:    {storing(`l.insert("i", ["k"], "v")`)},
	effect.KindLedgerDelete: {storing(`l.delete("i")`)},
	effect.KindLedgerFind:   {storing(`l.entries()`)},
	effect.KindMemoryAppend: {storing(`m.append("user", "x")`)},
	effect.KindMemoryList:   {storing(`m.messages()`)},
	effect.KindQueueAdd:     {storing(`q.add(1)?`)},
	effect.KindQueueClaim:   {storing(`q.claim()`)},
	effect.KindQueueUpdate:  {storing(`if let Err(e) = q.remove("t1") { if e.code == "file" { throw e; } }`)},
	effect.KindQueueGet:     {storing(`q.list()`)},
	effect.KindQueueWait:    {storing(`q.add(1, delay: 0.01)?; q.next()`)},

	effect.KindHTTP:    {`use std::http; fn main() { println(http::get(env("PAGE")?)?.body); }`},
	effect.KindCommand: {`use std::tools::RunCommand; fn main() { RunCommand.run("testhost")?; println("ok"); }`},
	effect.KindEnv:     {`fn main() { env("SOME"); println("ok"); }`},
	effect.KindEnvAll: {`use std::env; fn main() { let all = env::all(); if all.is_empty() { env("SOME"); }
		if all.keys() == ["SOME"] { println("ok"); } }`},

	effect.KindAgentCall:  {`agent A uses cloud { model: "m" } fn main() { println(A.execute("x")?.text); }`},
	effect.KindStreamOpen: {`agent A uses cloud { model: "m" } fn main() { let mut s = ""; for p in A.stream("x") { s += p.text; } println(s); }`},

	effect.KindExchangeOpen: {`host Worker { connector: worker, output_format: "json" } fn main() { println(Worker.execute("go")?); }`,
		`host Worker { connector: worker, output_format: "json" } fn main() { listen Worker.execute("go") { "question" => |q| "", "approval" => |a| "no" }?; println("ok"); }`},

	effect.KindExchangeGate: {`host Worker { connector: worker, output_format: "json" } fn main() { println(Worker.with_gate().execute("go")?); }`},

	effect.KindWorkOpen:    {`use std::work; fn main() { work::open("w")?; println("ok"); }`},
	effect.KindWorkList:    {`use std::work; fn main() { if work::list()?.is_empty() { println("ok"); } }`},
	effect.KindWorkDiff:    {`use std::work; fn main() { if work::open("w")?.diff()?.files.is_empty() { println("ok"); } }`},
	effect.KindWorkCommit:  {`use std::work; fn main() { if work::open("w")?.commit("x")? == nil { println("ok"); } }`},
	effect.KindWorkRun:     {`use std::work; fn main() { println(work::open("w")?.run(["testhost"])?.exit_code >= 0 && false, "ok"); }`},
	effect.KindWorkRemove:  {`use std::work; fn main() { work::open("w")?.remove()?; println("ok"); }`},
	effect.KindMergeSubmit: {`use std::merge; use std::work; fn main() { merge::queue("main")?.submit(work::open("w")?)?; println("ok"); }`},
	effect.KindMergeList:   {`use std::merge; fn main() { if merge::queue("main")?.list()?.is_empty() { println("ok"); } }`},
	effect.KindMergeOpen: {`use std::merge; fn main() { println(merge::queue("main")?.run()?.gates > 0, "ok"); }`,
		`use std::work; fn main() { work::open("w")?.merge("other")?; println("ok"); }`},

	effect.KindMCPOpen: {`mcp Local { fn echo(text: String) -> String; } fn main() { println(Local.echo("ok")); }`,
		`mcp Far { fn echo(text: String) -> String; } fn main() { println(Far.echo("ok")); }`},
}

// storing returns a program that performs the operation what on a store in a file.
func storing(what string) string {
	return `
hashmap h: HashMap<String, Int> = HashMap::new().with_persistence("s.db");
ledger l: Ledger = Ledger::new().with_persistence("s.db");
memory m: Memory = Memory::new().with_persistence("s.db");
queue q: Queue<Int> = Queue::new().with_persistence("s.db");
fn main() { ` + what + `; println("ok"); }`
}

// playground creates a directory in which every program of touching can perform its effect.
func playground(t *testing.T, env *[]string) string {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }))
	model := testllm.Start(modelserver.Reply{Text: "ok", Repeat: true})
	server := testmcp.Start()
	t.Cleanup(func() {
		page.Close()
		model.Close()
		server.CloseClientConnections()
		server.Close()
	})
	*env = append(*env, "PAGE="+page.URL, "MY_KEY=k-0123456789", "TEAM=t", "SOME=1")
	dir := t.TempDir()
	manifest := strings.NewReplacer("$MODEL", model.URL, "$SERVER", server.URL).Replace(`
[connections.cloud]
provider = "openai"
base_url = "$MODEL"
api_key_env = "MY_KEY"

[hosts.worker]
command = "testhost"
args = ["w.host"]
gate = [["sh", "-c", "true"]]

[mcp.Local]
command = "testmcp"

[merge.main]
gate = [["sh", "-c", "true"]]

[merge.other]
gate = []

[mcp.Far]
url = "$SERVER"
headers_env = { X-Team = "TEAM" }
`)
	for name, text := range map[string]string{"Concerto.toml": manifest, "data/in": "in",
		"w.host": ">~ {\"type\":\"prompt\",\"text\":\"go\"}\n< {\"type\":\"result\",\"text\":\"ok\"}\n"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	commit := "git init -q && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m one && git branch -q -f main && git branch -q other && git checkout -q --detach"
	if out, err := exec.Command("sh", "-c", "cd "+dir+" && "+commit).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

var advice = regexp.MustCompile(`not permitted: allow it with (--[^\n]*)\n`)

// TestPermissionsOfEffects runs each program of touching under --sandbox. The run is refused with
// an error that suggests flags. The test adds the suggested flags until the run succeeds. It checks
// that each suggested flag grants only a permission that the effect requires.
func TestPermissionsOfEffects(t *testing.T) {
	for _, k := range permit.Effects() {
		if len(touching[k]) == 0 {
			t.Errorf("no program has the effect %s: add one to touching", k)
		}
		for _, program := range touching[k] {
			t.Run(string(k), func(t *testing.T) {
				t.Parallel()
				env := append(os.Environ(), "NO_COLOR=1")
				dir := playground(t, &env)
				if k == effect.KindCommand || k == effect.KindWorkRun { // commands must be listed in the manifest, whatever the flags allow
					appendFile(t, filepath.Join(dir, "Concerto.toml"), "[permissions]\nrun = [\"testhost\", \"git\"]\n")
				}
				if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(program), 0o666); err != nil {
					t.Fatal(err)
				}
				flags := []string{"--sandbox"}
				for {
					code, out, errs := runIn(t, dir, env, append(append([]string{"run"}, flags...), "main.conc")...)
					m := advice.FindStringSubmatch(errs)
					if m == nil {
						if code != 0 || !strings.HasSuffix(out, "ok\n") {
							t.Errorf("run with %s: exit code %d, output %s%s", flags, code, out, errs)
						}
						break
					}
					for _, f := range strings.Fields(m[1]) {
						if slices.Contains(flags, f) {
							t.Fatalf("flag %s is set, but the error requires it again: %s", f, errs)
						}
						flags = append(flags, f)
					}
				}
				if len(flags) == 1 {
					t.Error("the program ran without any permission")
				}
				for _, f := range flags[1:] {
					name, _, _ := strings.Cut(strings.TrimPrefix(f, "--"), "=")
					if f != "--allow-env=PAGE" && !slices.ContainsFunc(permit.Needs(k), func(k permit.Kind) bool { return permit.Kinds[k].Flag == name }) &&
						!(k == effect.KindTempDir || k == effect.KindCommand || k == effect.KindWorkRun || k == effect.KindExchangeGate) {
						t.Errorf("the error for effect %s suggests the unnecessary flag %s", k, f)
					}
				}
			})
		}
	}
}

func appendFile(t *testing.T, path, text string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(old, text...), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func runIn(t *testing.T, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "concerto", args...)
	var out, errs bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, env, &out, &errs
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}
