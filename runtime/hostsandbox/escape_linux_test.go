package hostsandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/process/confine"
	_ "github.com/concerto-lang/concerto/internal/process/guard" // this binary is the guardian
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	_ "github.com/concerto-lang/concerto/internal/process/sandbox/inside" // and confines itself
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// place describes the surroundings of an attempt: a worktree in which it works, and everything
// else, which it should not reach.
type place struct {
	Layout    workspace.Layout
	Home      string // contains secret files; only the agent's own state may be used
	Other     string // another worktree
	Temp      string // the directory for temporary files of another process
	Terminal  string // of another process
	Shared    string // its file in /dev/shm
	Socket    string // of another process
	Abstract  string // name of its abstract socket
	Parent    int    // the process that has started the host
	Marker    uint64 // address of a text in its memory
	SharedMem int    // id of its shared memory
	Port      int    // of a server on all addresses
	Internal  string // an internal address, to which allowed.example.com resolves
	Metadata  string // the address of a cloud's metadata
}

// An attempt tries to leave the sandbox. It returns nil if it has succeeded.
type attempt struct {
	name string
	try  func(p *place) error
}

func (p *place) git(args ...string) error {
	c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	c.Dir = p.Layout.Top
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// write appends to a file, or creates it.
func write(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o755)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n# escaped\n")
	return errors.Join(err, f.Close())
}

func read(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && len(text) == 0 {
		return errors.New("it is empty")
	}
	return err
}

// dial connects to a server and expects its greeting.
func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && !strings.Contains(line, "200") && !strings.Contains(line, "hello") {
		err = errors.New(line)
	}
	return err
}

// fetch requests a page by the proxy in the environment, or directly without one.
func fetch(address string) error {
	t := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
		if at := os.Getenv("HTTP_PROXY"); at != "" {
			return url.Parse(at)
		}
		return nil, nil
	}}
	r, err := (&http.Client{Transport: t, Timeout: 5 * time.Second}).Get(address)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return errors.New(r.Status)
	}
	return nil
}

func (p *place) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", p.Parent, name) }

// readsAll ends the names of attempts whose sandbox has all files in `read`.
const readsAll = ", read = [\"/\"]"

// attempts is the table of attempts.
var attempts = []attempt{
	{"hook of the repository", func(p *place) error { return write(filepath.Join(p.Layout.Common, "hooks/post-checkout")) }},
	{"executable bit of a hook", func(p *place) error {
		return os.Chmod(filepath.Join(p.Layout.Common, "hooks/sample"), 0o755)
	}},
	{"core.hooksPath", func(p *place) error { return p.git("config", "core.hooksPath", "evil") }},
	{"core.fsmonitor", func(p *place) error { return p.git("config", "core.fsmonitor", "./evil") }},
	{"config file", func(p *place) error { return write(filepath.Join(p.Layout.Common, "config")) }},
	{"config of the worktree", func(p *place) error { return write(filepath.Join(p.Layout.Admin, "config.worktree")) }},
	{"time of the config file", func(p *place) error {
		return os.Chtimes(filepath.Join(p.Layout.Common, "config"), time.Unix(1, 0), time.Unix(1, 0))
	}},
	{"attributes of the repository", func(p *place) error {
		return write(filepath.Join(p.Layout.Common, "info/attributes"))
	}},
	{"commondir", func(p *place) error { return write(filepath.Join(p.Layout.Admin, "commondir")) }},
	{"gitdir", func(p *place) error { return write(filepath.Join(p.Layout.Admin, "gitdir")) }},
	{"HEAD of the worktree", func(p *place) error { return write(filepath.Join(p.Layout.Admin, "HEAD")) }},
	{"loose ref", func(p *place) error { return write(filepath.Join(p.Layout.Common, "refs/heads/evil")) }},
	{"packed refs", func(p *place) error { return write(filepath.Join(p.Layout.Common, "packed-refs")) }},
	{"update-ref", func(p *place) error { return p.git("update-ref", "refs/heads/evil", "HEAD") }},
	{"object", func(p *place) error { return p.git("hash-object", "-w", "file") }},
	{"alternates", func(p *place) error { return write(filepath.Join(p.Layout.Common, "objects/info/alternates")) }},
	{"commit", func(p *place) error { return p.git("commit", "--allow-empty", "-qm", "evil") }},
	{"stash", func(p *place) error { return errors.Join(write(filepath.Join(p.Layout.Top, "file")), p.git("stash")) }},
	{"worktree of git", func(p *place) error { return p.git("worktree", "add", "-q", "--detach", "../evil") }},
	{"index of the checkout", func(p *place) error { return write(filepath.Join(p.Layout.Common, "index")) }},
	{"file of the checkout", func(p *place) error { return write(filepath.Join(p.Layout.Checkout, "file")) }},
	{"uncommitted file of the checkout", func(p *place) error { return read(filepath.Join(p.Layout.Checkout, ".env")) }},
	{"other worktree, written", func(p *place) error { return write(filepath.Join(p.Other, "file")) }},
	{"other worktree, read", func(p *place) error { return read(filepath.Join(p.Other, "file")) }},
	{"`..`", func(p *place) error { return write("../../../file") }},
	{"link out of the worktree", func(p *place) error {
		return errors.Join(os.Symlink(p.Home, "way"), read("way/.ssh/key"))
	}},
	{"hard link to a file outside", func(p *place) error {
		return errors.Join(os.Link(filepath.Join(p.Home, ".ssh/key"), "key"), read("key"))
	}},
	{"file moved into the worktree", func(p *place) error { return os.Rename(filepath.Join(p.Home, ".ssh/key"), "key") }},
	{"file moved out of the worktree", func(p *place) error { return os.Rename("file", filepath.Join(p.Home, "file")) }},
	{"file removed outside", func(p *place) error { return os.Remove(filepath.Join(p.Home, ".ssh/key")) }},
	{"file truncated outside", func(p *place) error { return os.Truncate(filepath.Join(p.Home, ".ssh/key"), 0) }},
	{"permissions of a file outside", func(p *place) error { return os.Chmod(filepath.Join(p.Home, ".ssh/key"), 0o777) }},
	{"secret file of the user", func(p *place) error { return read(filepath.Join(p.Home, ".ssh/key")) }},
	{"start file of the shell", func(p *place) error { return write(filepath.Join(p.Home, ".profile")) }},
	{"list of the user's files", func(p *place) error { _, err := os.ReadDir(p.Home); return err }},
	{"temporary files of others", func(p *place) error { return read(filepath.Join(p.Temp, "t")) }},
	{"shared memory file", func(p *place) error { return read(p.Shared) }},
	{"root of the parent", func(p *place) error { return read(p.proc("root") + filepath.Join(p.Home, ".ssh/key")) }},
	{"directory of the parent", func(p *place) error { _, err := os.ReadDir(p.proc("cwd")); return err }},
	{"environment of the parent", func(p *place) error { return read(p.proc("environ")) }},
	{"descriptors of the parent", func(p *place) error { _, err := os.Readlink(p.proc("fd/0")); return err }},
	{"memory of the parent", func(p *place) error {
		f, err := os.Open(p.proc("mem"))
		if err == nil {
			_, err = f.ReadAt(make([]byte, len(marker)), int64(p.Marker))
		}
		return err
	}},
	{"ptrace of the parent", func(p *place) error {
		runtime.LockOSThread()
		err := unix.PtraceSeize(p.Parent)
		if err == nil {
			err = unix.PtraceDetach(p.Parent)
			if errors.Is(err, unix.ESRCH) {
				err = nil // a seized process that is not stopped cannot be detached
			}
		}
		return err
	}},
	{"reading the parent's memory", func(p *place) error {
		b := make([]byte, len(marker))
		local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
		n, err := unix.ProcessVMReadv(p.Parent, local, []unix.RemoteIovec{{Base: uintptr(p.Marker), Len: len(b)}}, 0)
		if err == nil && string(b[:n]) != marker {
			err = errors.New("it has other contents")
		}
		return err
	}},
	{"signal to the parent", func(p *place) error { return syscall.Kill(p.Parent, syscall.SIGURG) }},
	{"network namespace of the parent", func(p *place) error {
		f, err := os.Open(p.proc("ns/net"))
		if err == nil {
			runtime.LockOSThread()
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.Port))
		}
		return err
	}},
	{"shared memory of the system", func(p *place) error { _, err := unix.SysvShmAttach(p.SharedMem, 0, 0); return err }},
	{"terminal of another process", func(p *place) error { return write(p.Terminal) }},
	{"terminal of another process" + readsAll, func(p *place) error { return write(p.Terminal) }},
	{"shared memory file" + readsAll, func(p *place) error { return write(p.Shared) }},
	{"socket in the file system", func(p *place) error { return dial("unix", p.Socket) }},
	{"abstract socket", func(p *place) error { return dial("unix", "@"+p.Abstract) }},
	{"mount", func(p *place) error {
		return errors.Join(os.Mkdir("m", 0o755), unix.Mount(p.Home, "m", "", unix.MS_BIND, ""), read("m/.ssh/key"), unix.Unmount("m", unix.MNT_DETACH))
	}},
	{"mount in new namespaces", func(p *place) error {
		c := exec.Command("/usr/bin/unshare", "-r", "-m", "sh", "-c", `mkdir m && mount --bind "$0" m && cat m/.ssh/key`, p.Home)
		return c.Run()
	}},
	{"privileges", func(*place) error {
		if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); n == 1 || err != nil {
			return errors.New("they cannot be gained")
		}
		return nil
	}},
	{"loopback", func(p *place) error { return dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.Port)) }},
	{"loopback by IPv6", func(p *place) error { return dial("tcp", fmt.Sprintf("[::1]:%d", p.Port)) }},
	{"loopback by the proxy", func(p *place) error { return fetch(fmt.Sprintf("http://127.0.0.1:%d", p.Port)) }},
	{"loopback by a name", func(p *place) error { return fetch(fmt.Sprintf("http://localhost:%d", p.Port)) }},
	{"loopback as IPv4 in IPv6", func(p *place) error { return fetch(fmt.Sprintf("http://[::ffff:127.0.0.1]:%d", p.Port)) }},
	{"metadata address", func(p *place) error { return dial("tcp", fmt.Sprintf("%s:%d", p.Metadata, p.Port)) }},
	{"metadata address by the proxy", func(p *place) error { return fetch(fmt.Sprintf("http://%s:%d", p.Metadata, p.Port)) }},
	{"allowed name with an internal address", func(p *place) error { return fetch(fmt.Sprintf("http://allowed.example.com:%d", p.Port)) }},
	{"other name", func(p *place) error { return fetch(fmt.Sprintf("http://other.example.com:%d", p.Port)) }},
	{"datagram", func(p *place) error { return dial("udp", fmt.Sprintf("%s:%d", p.Internal, p.Port)) }},
}

// allowed are the attempts' controls: what the sandbox must not prevent.
var allowed = []attempt{
	{"writing the worktree", func(p *place) error { return write(filepath.Join(p.Layout.Top, "file")) }},
	{"git status", func(p *place) error { return p.git("status") }},
	{"git diff", func(p *place) error { return p.git("diff", "HEAD") }},
	{"git log", func(p *place) error { return p.git("log", "-p") }},
	{"own state", func(p *place) error { return write(filepath.Join(p.Home, ".claude/state")) }},
	{"own temporary files", func(*place) error { return write(filepath.Join(os.TempDir(), "x")) }},
	{"own terminal", func(*place) error {
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer master.Close()
		if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		return write("/dev/pts/0")
	}},
	{"own shared memory", func(*place) error { return write("/dev/shm/x") }},
	{"allowed address", func(p *place) error { return fetch(fmt.Sprintf("http://%s:%d", p.Internal, p.Port)) }},
}

// marker is a text in the memory of the process that starts hosts.
const marker = "a text in the parent's memory"

const (
	roleVariable  = "ESCAPE_ROLE"
	placeVariable = "ESCAPE_PLACE"
)

// TestMain makes the test binary act as a host that makes one attempt.
func TestMain(m *testing.M) {
	name := os.Getenv(roleVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	var p place
	if err := json.Unmarshal([]byte(os.Getenv(placeVariable)), &p); err != nil {
		panic(err)
	}
	for _, a := range append(attempts[:len(attempts):len(attempts)], allowed...) {
		if a.name != name {
			continue
		}
		if err := a.try(&p); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// insideVariable is set in the process that TestEscapes starts in namespaces of its own.
const insideVariable = "ESCAPE_INSIDE"

// TestEscapes makes each attempt without and in a sandbox. Without, it must succeed, so that the
// attempt is a real one. It runs in namespaces in which it can have any addresses and names.
func TestEscapes(t *testing.T) {
	if lacks, _ := confine.Check(ours(), sandbox.Confinement{Files: true, Hidden: true, Offline: true, Loopback: true}); len(lacks) > 0 {
		t.Skipf("this system lacks %s", confine.Describe(lacks))
	}
	for _, name := range []string{"git", "unshare", "mount"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	if os.Getenv(insideVariable) == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestEscapes$", "-test.v", "-test.timeout=5m")
		c.Env = append(os.Environ(), insideVariable+"=1")
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
		out, err := c.CombinedOutput()
		if err != nil || testing.Verbose() {
			t.Logf("%s", out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	w := newWorld(t)
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			p := w.place(t)
			if out, ok := w.run(t, p, a.name, false); !ok {
				t.Fatalf("the attempt fails without a sandbox: %s", out)
			}
			p = w.place(t)
			if out, ok := w.run(t, p, a.name, true); ok {
				t.Errorf("the attempt succeeds in the sandbox: %s", out)
			} else {
				t.Logf("refused: %s", out)
			}
		})
	}
	for _, a := range allowed {
		t.Run("allowed/"+a.name, func(t *testing.T) {
			p := w.place(t)
			if out, ok := w.run(t, p, a.name, true); !ok {
				t.Errorf("the sandbox prevents it: %s", out)
			}
		})
	}
	t.Run("number", func(t *testing.T) {
		if len(attempts) < 40 {
			t.Errorf("%d attempts, want at least 40", len(attempts))
		}
	})
}

func ours() *procgroup.Run { return &procgroup.Run{ID: procgroup.NewID(), Executable: os.Args[0]} }

// world is what all attempts share.
type world struct {
	port   int
	memory []byte
	shm    int
	pty    string // a terminal
}

const (
	internalAddress = "10.9.8.7"
	metadataAddress = "169.254.169.254"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, i := range []struct{ name, address string }{{"lo", ""}, {"lo:1", internalAddress}, {"lo:2", metadataAddress}} {
		q, err := unix.NewIfreq(i.name)
		if err != nil {
			t.Fatal(err)
		}
		if i.address == "" {
			q.SetUint16(unix.IFF_UP)
			err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, q)
		} else {
			if err := q.SetInet4Addr(net.ParseIP(i.address).To4()); err != nil {
				t.Fatal(err)
			}
			err = unix.IoctlIfreq(fd, unix.SIOCSIFADDR, q)
		}
		if err != nil {
			t.Fatalf("set up %s: %v", i.name, err)
		}
	}
	names := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(names, fmt.Appendf(nil, "127.0.0.1 localhost\n%s allowed.example.com other.example.com\n", internalAddress), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(names, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{port: l.Addr().(*net.TCPAddr).Port, memory: bytes.Clone([]byte(marker))}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	u, err := net.ListenPacket("udp", fmt.Sprintf("%s:%d", internalAddress, w.port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close() })
	go func() {
		b := make([]byte, 100)
		for {
			_, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = u.WriteTo([]byte("hello\n"), from)
		}
	}()
	if w.shm, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(w.shm, unix.IPC_RMID, nil) })
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.pty = fmt.Sprintf("/dev/pts/%d", number)
	return w
}

// place creates a repository with two worktrees, and the files and sockets of other processes.
func (w *world) place(t *testing.T) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	p := &place{Home: in("home"), Terminal: w.pty, Other: in("repo/.concerto/tasks/other"), Temp: in("concerto-1-1-x"), Socket: in("run/s"), Abstract: dir,
		Parent: os.Getpid(), Marker: uint64(uintptr(unsafe.Pointer(&w.memory[0]))), SharedMem: w.shm, Port: w.port, Internal: internalAddress, Metadata: metadataAddress}
	for name, text := range map[string]string{"home/.ssh/key": "secret", "home/.claude/login": "x", "repo/file": "one\n", "repo/.env": "secret", "run/x": "", "concerto-1-1-x/t": "secret"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(in(name)), 0o755), os.WriteFile(in(name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p.Layout = workspace.Layout{Top: in("repo/.concerto/tasks/one"), Admin: in("repo/.git/worktrees/one"), Common: in("repo/.git"), Checkout: in("repo"), Tasks: in("repo/.concerto/tasks")}
	for _, args := range []string{"init -q -b main .", "add file", "-c user.name=a -c user.email=a@b commit -qm first", "worktree add -q -b one .concerto/tasks/one", "worktree add -q -b other .concerto/tasks/other"} {
		c := exec.Command("git", strings.Fields(args)...)
		c.Dir = p.Layout.Checkout
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	if err := errors.Join(os.MkdirAll(in("repo/.git/hooks"), 0o755), os.WriteFile(in("repo/.git/hooks/sample"), nil, 0o644), os.MkdirAll(in("repo/.git/info"), 0o755)); err != nil {
		t.Fatal(err)
	}
	shared, err := os.CreateTemp("/dev/shm", "escape")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(shared.Name()) })
	p.Shared = shared.Name()
	if _, err := shared.WriteString("secret"); err != nil {
		t.Fatal(err)
	}
	shared.Close()
	for _, name := range []string{p.Socket, "@" + p.Abstract} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, "hello\n")
				c.Close()
			}
		}()
	}
	return p
}

// run starts a host that makes an attempt, and reports whether it has succeeded.
func (w *world) run(t *testing.T, p *place, name string, confined bool) (out string, ok bool) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + p.Home, roleVariable + "=" + name, placeVariable + "=" + string(text), "GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0"}
	c := procgroup.Command{Name: "X", Path: os.Args[0], Env: env, Dir: p.Layout.Top, Merged: true}
	var box *sandbox.Confinement
	if confined {
		config := &host.Config{Name: "X", Connector: "x", Transport: claudeCode, Dir: p.Layout.Top, Isolation: host.Isolation{Root: p.Layout.Checkout, Original: p.Layout.Checkout}, Access: host.Access{Sandbox: &host.Sandbox{
			Net:      host.Network{fmt.Sprintf("allowed.example.com:%d", p.Port), fmt.Sprintf("%s:%d", "*.example.org", p.Port)},
			Settings: sandbox.Settings{Write: []string{"."}},
		}}}
		if strings.HasSuffix(name, readsAll) {
			config.Access.Sandbox.Read = []string{"/"}
		}
		if name == "allowed address" {
			config.Access.Sandbox.Net = host.Network{fmt.Sprintf("%s:%d", p.Internal, p.Port)}
		}
		var lacks []string
		if box, lacks, err = (Sandboxes{}).Confine(&host.SandboxRequest{Config: config, Path: os.Args[0], Environ: env, Run: ours(), Layout: &p.Layout}); err != nil || len(lacks) > 0 {
			t.Fatalf("Confine: %v, lacks %v", err, lacks)
		}
	}
	started, err := confine.Start(ours(), c, box, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = started.Stdin.Close()
	var all strings.Builder
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&all, started.Stdout) })
	<-started.GroupDone()
	reading.Wait()
	return strings.TrimSpace(all.String()), started.Exit().Code == 0
}
