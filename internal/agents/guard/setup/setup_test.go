package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/guard"
)

// TestCommandRefuses checks that the command of a hook refuses a call, with a reason, in whatever
// way the guard itself breaks, and that it returns the guard's own answers.
func TestCommandRefuses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("agents start hooks in another shell")
	}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		script string // of the guard; "" means that there is none
		mode   os.FileMode
		code   int
	}{
		"missing":           {"", 0, 2},
		"not executable":    {"exit 0", 0o600, 2},
		"no program":        {"\x7fELF\x00", 0o700, 2},
		"another exit code": {"exit 1", 0o700, 2},
		"not found inside":  {"nonexistent-program", 0o700, 2},
		"a signal":          {"kill -9 $$", 0o700, 2},
		"a crash":           {"kill -11 $$", 0o700, 2},
		"terminated":        {"kill -15 $$", 0o700, 2},
		"a pipe":            {"kill -13 $$", 0o700, 2},
		"a large exit code": {"exit 255", 0o700, 2},
		"allowed":           {"echo '{}'; exit 0", 0o700, 0},
		"denied":            {"echo reason >&2; exit 2", 0o700, 2},
	} {
		program := filepath.Join(dir, "a 'b", strings.ReplaceAll(name, " ", "-")) // a path that must be quoted
		if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
			t.Fatal(err)
		}
		if c.script != "" {
			text := "#!/bin/sh\n" + c.script + "\n"
			if name == "no program" {
				text = c.script
			}
			if err := os.WriteFile(program, []byte(text), c.mode); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range Agents() {
			for _, e := range a.events {
				cmd := exec.Command("sh", "-c", a.command(program, e))
				cmd.Stdin = strings.NewReader("{}")
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				_ = cmd.Run() // the exit code is compared
				code := cmd.ProcessState.ExitCode()
				if e.undecided && c.code == 2 && name != "denied" {
					if code == 0 { // the dialog decides if the hook fails
						t.Errorf("%s %s, %s: exit code 0", a.Name, e.name, name)
					}
					continue
				}
				if code != c.code || (code == 2) != (stderr.Len() > 0) {
					t.Errorf("%s %s, %s: exit code %d, stderr %q, want exit code %d", a.Name, e.name, name, code, stderr.String(), c.code)
				}
			}
		}
	}
}

// TestPlugin checks that OpenCode's plugin refuses a call in whatever way the guard breaks.
func TestPlugin(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	dir := t.TempDir()
	for name, c := range map[string]struct{ script, want string }{
		"missing":   {"", "refused: concerto guard failed, so this call is refused: "},
		"crashes":   {"kill -9 $$", "refused: concerto guard failed, so this call is refused"},
		"exit code": {"exit 1", "refused: concerto guard failed, so this call is refused"},
		"denies":    {"cat > /dev/null; echo 'not on Fridays' >&2; exit 2", "refused: not on Fridays"},
		"allows":    {`grep -q '"tool_name":"bash","tool_input":{"command":"ls"},"cwd":"/x"' && exit 0; exit 1`, "allowed"},
	} {
		program := filepath.Join(dir, name)
		if c.script != "" {
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, name+".mjs")
		text := plugin(program) + `
const hooks = await ConcertoGuard({ directory: "/x" })
try {
  await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, { args: { command: "ls" } })
  console.log("allowed")
} catch (e) {
  console.log("refused: " + e.message)
}
`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(node, path).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), c.want) {
			t.Errorf("%s: %s (%v), want %s", name, out, err, c.want)
		}
	}
}

// TestEditor adds entries to generated settings and removes them again. The settings must contain
// the entries in between, and be the same to the byte afterwards.
func TestEditor(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 400 {
		text := settingsText(r)
		a := Find([]string{"claude-code", "codex", "gemini", "cursor"}[r.IntN(4)])
		out, added, err := a.addHooks(bytes.Clone(text), "/bin/concerto")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var s struct {
			Hooks map[string][]json.RawMessage `json:"hooks"`
		}
		if err := json.Unmarshal(out, &s); err != nil {
			t.Fatalf("%s\nbecomes\n%s\n%v", text, out, err)
		}
		for _, e := range a.events {
			if own := s.Hooks[e.name]; len(own) == 0 || !strings.Contains(string(own[len(own)-1]), "guard hook "+a.Name) {
				t.Fatalf("%s\nbecomes\n%s\nwithout a last hook of %s", text, out, e.name)
			}
		}
		back, err := remove(out, added)
		if err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q\nbecomes\n%q\nand back\n%q (%v)", text, out, back, err)
		}
	}
}

// settingsText returns settings with random members and white space.
func settingsText(r *rand.Rand) []byte {
	space := func() string { return []string{"", " ", "\n", "\n  ", "\n\t", "\r\n    "}[r.IntN(6)] }
	array := func() string {
		var all []string
		for range r.IntN(3) {
			all = append(all, fmt.Sprintf(`{%s"matcher":%s"x","hooks":[{"type":"command","command":"c%d"}]}`, space(), space(), r.IntN(9)))
		}
		return "[" + space() + strings.Join(all, space()+","+space()) + space() + "]"
	}
	var hooks, members []string
	for _, event := range []string{"PreToolUse", "BeforeTool", "preToolUse", "Stop"} {
		if r.IntN(2) == 0 {
			hooks = append(hooks, fmt.Sprintf("%q:%s%s", event, space(), array()))
		}
	}
	if r.IntN(3) > 0 {
		members = append(members, `"hooks":`+space()+"{"+space()+strings.Join(hooks, ","+space())+space()+"}")
	}
	for i := range r.IntN(3) {
		members = append(members, fmt.Sprintf(`"m%d":%s[1, {"hooks":{}}, "}"]`, i, space()))
	}
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return []byte(space() + "{" + space() + strings.Join(members, space()+","+space()) + space() + "}" + space())
}

// TestChangedSince checks that an installation is removed only as it was made.
func TestChangedSince(t *testing.T) {
	a := Find("claude-code")
	out, added, err := a.addHooks([]byte("{}\n"), "/bin/concerto")
	if err != nil {
		t.Fatal(err)
	}
	twice := append(bytes.Clone(out), out...)
	for _, text := range [][]byte{nil, []byte("{}"), bytes.Replace(out, []byte("3600"), []byte("36"), 1), twice} {
		if back, err := remove(text, added); err == nil {
			t.Errorf("%s\nbecomes\n%s", text, back)
		}
	}
}

// TestRecordsOfLevels checks that installations of several agents and levels do not disturb one
// another, and that the policy of the user stays until the last one is removed.
func TestRecordsOfLevels(t *testing.T) {
	root := t.TempDir()
	p := &Place{Dir: filepath.Join(root, "project"), Home: filepath.Join(root, "home"), State: filepath.Join(root, "state"), Config: filepath.Join(root, "config"), Root: filepath.Join(root, "root"),
		Concerto: "/bin/concerto", Getenv: func(string) string { return "" }}
	if err := os.Mkdir(p.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	install := func(name string, l Level) {
		t.Helper()
		a := Find(name)
		changes, err := a.Plan(p, l)
		if err == nil {
			err = a.Install(p, l, changes)
		}
		if err != nil {
			t.Fatalf("install %s %s: %v", name, l, err)
		}
	}
	uninstall := func(name string, l Level) {
		t.Helper()
		a := Find(name)
		of, changes, err := a.PlanRemoval(p, l)
		if err == nil {
			err = a.Uninstall(p, of, changes)
		}
		if err != nil || len(of) == 0 {
			t.Fatalf("uninstall %s %s: %v", name, l, err)
		}
	}
	exists := func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	}
	policy := filepath.Join(p.Config, guard.FileName)
	install("claude-code", User)
	install("gemini", User)
	install("claude-code", System)
	install("cursor", Project)
	install("claude-code", User) // again
	uninstall("claude-code", User)
	if !exists(policy) || exists(filepath.Join(p.Home, ".claude")) || !exists(filepath.Join(p.Root, "etc/claude-code/managed-settings.d/concerto-guard.json")) {
		t.Error("after the first removal")
	}
	uninstall("gemini", User)
	if exists(policy) || exists(filepath.Join(p.Home, ".gemini")) {
		t.Error("after the removal of all installations of the user")
	}
	uninstall("claude-code", "")
	uninstall("cursor", Project)
	if exists(p.Root) || exists(p.Dir) || exists(p.recordFile()) {
		t.Error("after all removals")
	}
}

// TestLaunchRefuses checks which arguments of an agent could remove its hooks.
func TestLaunchRefuses(t *testing.T) {
	for _, c := range []struct {
		agent, args string
		refused     bool
	}{
		{"claude-code", "-p hello", false},
		{"claude-code", "--settings x", true},
		{"claude-code", "--settings=x", true},
		{"claude-code", "--bare", true},
		{"claude-code", "-- --bare", false},
		{"codex", "exec x", false},
		{"codex", "--disable hooks", true},
		{"codex", "-c model=x", false},
		{"codex", "-c hooks.PreToolUse=[]", true},
		{"codex", "-chooks.PreToolUse=[]", true},
		{"codex", "--config=features.hooks=false", true},
		{"codex", "--config features.hooks=false", true},
		{"codex", "-c \"features\".hooks=false", true},
		{"opencode", "--pure", true},
		{"opencode", "run x", false},
	} {
		a := Find(c.agent)
		if err := a.refuse(strings.Fields(c.args)); (err != nil) != c.refused {
			t.Errorf("%s %s: %v", c.agent, c.args, err)
		}
	}
}

// TestEachAgentIsComplete checks that each agent whose hooks are supported can be installed.
func TestEachAgentIsComplete(t *testing.T) {
	for _, name := range guard.SupportedAgents() {
		if Find(name) == nil {
			t.Errorf("%s cannot be installed", name)
		}
	}
	if len(Agents()) != len(guard.SupportedAgents()) {
		t.Error("an agent can be installed whose hooks are not supported")
	}
}
