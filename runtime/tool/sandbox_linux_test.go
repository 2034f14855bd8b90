package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/confine"
	_ "github.com/concerto-lang/concerto/internal/process/guard" // this binary is the guardian
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	_ "github.com/concerto-lang/concerto/internal/process/sandbox/inside" // and confines itself
)

func init() {
	// performs the actions in its arguments and prints the result of each
	roles["tries"] = func(args []string) {
		out := map[string]string{}
		for _, what := range args {
			verb, target, _ := strings.Cut(what, " ")
			err := tries[verb](target)
			switch {
			case err == nil:
				out[verb+" "+filepath.Base(target)] = "ok"
			case errors.As(err, new(*net.OpError)):
				out[verb+" "+filepath.Base(target)] = "no network"
			default:
				out[verb+" "+filepath.Base(target)] = procgroup.BareError(err).Error()
			}
		}
		_ = json.NewEncoder(os.Stdout).Encode(out)
	}
	// runs a session in a user namespace that may not create further namespaces
	roles["nested"] = func(args []string) {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		var x Command
		if err := json.Unmarshal([]byte(args[0]), &x); err != nil {
			panic(err)
		}
		d, err := x.Definition(Spec{Name: "x"}, "")
		r := &Registry{}
		if err = errors.Join(err, r.Register(d)); err != nil {
			panic(err)
		}
		s, err := r.OpenWith(context.Background(), Context{}, Hooks{World: ours(), Log: func(level, message string) { fmt.Println(level, message) }})
		if err != nil {
			panic(err)
		}
		e := s.Do(context.Background(), Ask{Name: "x"})
		fmt.Println(e.Outcome, e.Result.Error, string(e.Result.Output), e.Result.Metadata[infoKey].(Info).SandboxMissing)
	}
}

var tries = map[string]func(string) error{
	"read":  func(path string) error { _, err := os.ReadFile(path); return err },
	"list":  func(path string) error { _, err := os.ReadDir(path); return err },
	"write": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
	"cut":   func(path string) error { return os.Truncate(path, 0) },
	"move":  func(path string) error { return os.Rename(path, path+".moved") },
	"run": func(path string) error {
		return exec.Command(path).Run()
	},
	"dial": func(address string) error {
		c, err := net.Dial("tcp", address)
		if err == nil {
			err = c.Close()
		}
		return err
	},
	"win": func(string) error { // privileges
		const get = 39 // number of PR_GET_NO_NEW_PRIVS
		if n, _, _ := syscall.Syscall6(syscall.SYS_PRCTL, get, 0, 0, 0, 0, 0); n == 1 {
			return errors.New("cannot")
		}
		return nil
	},
	"open": func(string) error {
		for range 100 {
			if _, err := os.Open(os.DevNull); err != nil {
				return err
			}
		}
		return nil
	},
	"grow": func(path string) error {
		signal.Ignore(syscall.SIGXFSZ)
		return os.WriteFile(path, make([]byte, 2<<20), 0o600)
	},
	"eat": func(string) error {
		var blocks [][]byte
		for {
			b := make([]byte, 16<<20)
			for i := range b {
				b[i] = 1
			}
			blocks = append(blocks, b)
			if len(blocks) > 64 {
				return nil
			}
		}
	},
}

func ours() World {
	return World{Run: &procgroup.Run{ID: procgroup.NewID(), Executable: os.Args[0]}}
}

// confined returns a command that performs actions in a sandbox.
func confined(s Sandbox, tries ...string) Command {
	x := plays("tries", tries...)
	x.Sandbox = &s
	return x
}

func tried(t *testing.T, x Command, dir string) string {
	t.Helper()
	e := ran(t, x, `{}`, Context{Cwd: dir}, Hooks{World: ours()})
	if e.Outcome != OutcomeOK {
		return e.Result.Error
	}
	return string(e.Result.Output)
}

// TestSandboxFiles checks that a command can access only the files that its sandbox lists.
func TestSandboxFiles(t *testing.T) {
	if sandbox.Landlock() < sandbox.LandlockNeeded {
		t.Skip("this machine lacks Landlock")
	}
	dir := t.TempDir()
	for _, name := range []string{"cwd", "data", "out", "secret"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, name+".txt"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(verb, path string) string { return verb + " " + filepath.Join(dir, path) }
	s := Sandbox{Settings: sandbox.Settings{Read: []string{filepath.Join(dir, "data"), "/proc/self"}, Write: []string{filepath.Join(dir, "out")}}}
	got := tried(t, confined(s, in("read", "cwd/cwd.txt"), in("write", "cwd/new.txt"), in("read", "data/data.txt"), in("write", "data/data.txt"), in("cut", "data/data.txt"),
		in("read", "out/out.txt"), in("write", "out/new.txt"), in("move", "out/out.txt"), in("read", "secret/secret.txt"), in("cut", "secret/secret.txt"), in("list", "secret"),
		"read /etc/passwd", "write /dev/null", "run /bin/true", "win x"), filepath.Join(dir, "cwd"))
	var all map[string]string
	if err := json.Unmarshal([]byte(got), &all); err != nil {
		t.Fatal(got)
	}
	for what, want := range map[string]string{"read cwd.txt": "ok", "read data.txt": "ok", "write data.txt": "permission denied", "cut data.txt": "permission denied", "read out.txt": "ok",
		"move out.txt": "ok", "read secret.txt": "permission denied", "cut secret.txt": "permission denied", "list secret": "permission denied", "read passwd": "permission denied",
		"write null": "ok", "run true": "ok", "win x": "cannot"} {
		if all[what] != want {
			t.Errorf("result of %s = %q, want %q", what, all[what], want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "cwd", "new.txt")); err == nil {
		t.Error("the command created a file in a read-only directory")
	}
	if _, err := os.Stat(filepath.Join(dir, "out", "new.txt")); err != nil {
		t.Error(err)
	}
	// With an empty list no file is accessible. Listed paths must exist.
	if got := tried(t, confined(Sandbox{Settings: sandbox.Settings{Read: []string{}}}, in("read", "data/data.txt")), filepath.Join(dir, "cwd")); got != `{"read data.txt":"permission denied"}` {
		t.Error(got)
	}
	if got, want := tried(t, confined(Sandbox{Settings: sandbox.Settings{Write: []string{in("", "none")[1:]}}}), dir), "the sandbox lists "+filepath.Join(dir, "none")+" in `write`: no such file or directory"; got != want {
		t.Error(got)
	}
	// Without both lists all files are accessible.
	if got := tried(t, confined(Sandbox{}, "read /etc/passwd", "win x"), dir); got != `{"read passwd":"ok","win x":"cannot"}` {
		t.Error(got)
	}
}

// TestSandboxNet checks that `net: false` starts the command in an empty network without changing
// its user.
func TestSandboxNet(t *testing.T) {
	off, on := false, true
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	address := strings.TrimPrefix(s.URL, "http://")
	dial := "dial " + filepath.Base(address)
	if lacks := (&Sandbox{Net: &off}).Lacks(ours().Run); lacks != nil {
		if got := tried(t, confined(Sandbox{Net: &off}, "dial "+address), ""); got != "this machine lacks network namespaces" {
			t.Error(got)
		}
		t.Skip("this machine lacks network namespaces")
	}
	file := filepath.Join(t.TempDir(), "own")
	if got := tried(t, confined(Sandbox{Net: &off}, "dial "+address, "write "+file), ""); got != `{"`+dial+`":"no network","write own":"ok"}` {
		t.Error(got)
	}
	if info, err := os.Stat(file); err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		t.Errorf("the file does not belong to the user of this process (error %v)", err)
	}
	if got := tried(t, confined(Sandbox{Net: &on}, "dial "+address), ""); got != `{"`+dial+`":"ok"}` {
		t.Error(got)
	}
}

// TestSandboxLimits checks that a command that exceeds a limit is ended or receives an error.
func TestSandboxLimits(t *testing.T) {
	dir := t.TempDir()
	if got := tried(t, confined(Sandbox{Settings: sandbox.Settings{OpenFiles: 64}}, "open x"), dir); got != `{"open x":"too many open files"}` {
		t.Error(got)
	}
	if got := tried(t, confined(Sandbox{Settings: sandbox.Settings{FileMB: 1}}, "grow "+filepath.Join(dir, "big")), dir); got != `{"grow big":"file too large"}` {
		t.Error(got)
	}
	if got := tried(t, confined(Sandbox{Settings: sandbox.Settings{MemoryMB: 100}}, "eat x"), dir); got != "used more than 100 MB of memory and was stopped" {
		t.Error(got)
	}
}

// TestSandboxLines checks that a long-lived process runs in its sandbox and ends with its session.
func TestSandboxLines(t *testing.T) {
	x := stays()
	x.Sandbox = &Sandbox{Settings: sandbox.Settings{OpenFiles: 64}}
	s := opened(t, registered(t, defined(t, x, Spec{Scope: PerSession})), Context{}, Hooks{World: ours()})
	expectResult(t, s, `{"do":"count"}`, "1")
	expectResult(t, s, `{"do":"count"}`, "2")
}

// TestSandboxMissing checks the behaviour on a machine that lacks a feature. The call fails; if the
// sandbox allows it, the call runs and reports the missing feature.
func TestSandboxMissing(t *testing.T) {
	off := false
	if got := ran(t, confined(Sandbox{}), `{}`, Context{}, Hooks{}).Result.Error; got != "this machine lacks the program concerto, which sets sandboxes up" {
		t.Error(got)
	}
	var rec recorder
	x := confined(Sandbox{Settings: sandbox.Settings{Missing: sandbox.MissingWarn, OpenFiles: 64}}, "win x")
	s := opened(t, registered(t, defined(t, x, Spec{})), Context{}, rec.hooks())
	for range 2 {
		e := s.Do(context.Background(), Ask{Name: "x"})
		info, err := json.Marshal(e.Result.Metadata[infoKey])
		if want := `"sandbox_missing":["the program concerto, which sets sandboxes up"]`; err != nil || !strings.Contains(string(info), want) || string(e.Result.Output) != `{"win x":"ok"}` {
			t.Errorf("metadata %s, output %s, error %q; want the missing part in the metadata and no error", info, e.Result.Output, e.Result.Error)
		}
	}
	if want := []string{"warn tool 'x' runs without a complete sandbox: this machine does not support the program concerto, which sets sandboxes up"}; !slices.Equal(rec.logs, want) {
		t.Errorf("log = %q, want one warning", rec.logs)
	}
	for missing, want := range map[string]string{
		sandbox.MissingFail: "failed this machine lacks network namespaces  []\n",
		sandbox.MissingWarn: "warn tool 'x' runs without a complete sandbox: this machine does not support network namespaces\nok  {\"win x\":\"cannot\"} [network namespaces]\n",
	} {
		text, err := json.Marshal(confined(Sandbox{Net: &off, Settings: sandbox.Settings{Missing: missing}}, "win x"))
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(os.Args[0], string(text))
		c.Env = append(os.Environ(), "TOOL_ROLE=nested")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}}
		if out, err := c.Output(); err != nil || string(out) != want {
			if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
				t.Skipf("this machine lacks user namespaces: %v", err)
			}
			t.Errorf("missing = %s: got %s (error %v), want %s", missing, out, err, want)
		}
	}
}

// TestSandboxLandlock checks that a kernel without Landlock, or with a version of Landlock that
// cannot restrict files, is reported.
func TestSandboxLandlock(t *testing.T) {
	defer func(is func() int) { confine.Landlock = is }(confine.Landlock)
	for version, lack := range map[int]string{0: "Landlock", 2: "version 3 of Landlock's ABI (it has 2)"} {
		confine.Landlock = func() int { return version }
		if got := tried(t, confined(Sandbox{Settings: sandbox.Settings{Read: []string{}}}, "read /etc/passwd"), ""); got != "this machine lacks "+lack {
			t.Error(got)
		}
		e := ran(t, confined(Sandbox{Settings: sandbox.Settings{Read: []string{}, Missing: sandbox.MissingWarn, OpenFiles: 64}}, "read /etc/passwd", "open x", "win x"), `{}`, Context{}, Hooks{World: ours()})
		if info := e.Result.Metadata[infoKey].(Info); !slices.Equal(info.SandboxMissing, []string{lack}) || string(e.Result.Output) != `{"open x":"too many open files","read passwd":"ok","win x":"cannot"}` {
			t.Errorf("metadata %v, output %s, error %q; want the missing part and the other limits applied", info, e.Result.Output, e.Result.Error)
		}
	}
}

// TestSandboxDefinition checks that errors in a sandbox are reported with their positions.
func TestSandboxDefinition(t *testing.T) {
	x := confined(Sandbox{Settings: sandbox.Settings{Read: []string{""}, CPUSeconds: -1, Processes: -2, Missing: "ignore"}})
	_, err := x.Definition(Spec{Name: "x"}, "")
	want := `tool 'x': /command/sandbox/read/0: must be a path
tool 'x': /command/sandbox/cpu_seconds: must be more than 0
tool 'x': /command/sandbox/processes: must be more than 0
tool 'x': /command/sandbox/missing: must be one of fail, warn, not "ignore"`
	if err == nil || err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
	if x.Sandbox.Missing != "ignore" {
		t.Error("validation changed the definition")
	}
}
