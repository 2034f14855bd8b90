package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	_ "github.com/concerto-lang/concerto/internal/process/guard" // this binary is the guardian
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	_ "github.com/concerto-lang/concerto/internal/process/sandbox/inside" // and confines itself
)

func ours() *procgroup.Run { return &procgroup.Run{ID: procgroup.NewID(), Executable: os.Args[0]} }

// script runs a shell script in a sandbox and returns its output.
func script(t *testing.T, s *sandbox.Confinement, env []string, dir, text string, blocked func(string)) string {
	t.Helper()
	p, err := Start(ours(), procgroup.Command{Name: "x", Path: "/bin/sh", Args: []string{"-c", text}, Env: append([]string{"PATH=/usr/bin:/bin"}, env...), Dir: dir, Merged: true}, s, blocked)
	if err != nil {
		return "error: " + err.Error()
	}
	p.Stdin.Close()
	out, err := io.ReadAll(p.Stdout)
	<-p.GroupDone()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// enforced returns a confinement, or skips the test if this machine cannot enforce it.
func enforced(t *testing.T, c sandbox.Confinement) *sandbox.Confinement {
	t.Helper()
	if lacks, _ := Check(ours(), c); len(lacks) > 0 {
		t.Skipf("this machine lacks %s", Describe(lacks))
	}
	return &c
}

// shown returns a confinement that shows only some paths and those that programs need.
func shown(t *testing.T, read, write []string) *sandbox.Confinement {
	t.Helper()
	required, err := RequiredPaths()
	if err != nil {
		t.Fatal(err)
	}
	return enforced(t, sandbox.Confinement{Files: true, Hidden: true, Read: append(required, read...), Write: append([]string{os.DevNull}, write...)})
}

// TestCheck checks that Check tries what the start of a process needs.
func TestCheck(t *testing.T) {
	enforced(t, sandbox.Confinement{Hidden: true, Offline: true, Loopback: true})
	file := filepath.Join(t.TempDir(), "concerto")
	if err := os.WriteFile(file, []byte("#!/bin/sh\ncase $3 in *'\"devices\":true'*|*'\"loopback\":true'*) exit 1;; esac\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		needs sandbox.Confinement
		want  string
	}{
		{sandbox.Confinement{Offline: true}, ""},
		{sandbox.Confinement{Offline: true, Loopback: true}, featureNetwork},
		{sandbox.Confinement{Hidden: true}, featureMounts},
	} {
		if lacks, _ := Check(&procgroup.Run{ID: procgroup.NewID(), Executable: file}, c.needs); Describe(lacks) != c.want {
			t.Errorf("%+v: lacks %v, want %q", c.needs, lacks, c.want)
		}
	}
}

// TestHidden checks that a process sees only the paths of its sandbox, also through links, and that
// its directory for temporary files is removed with it.
func TestHidden(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"real/data", "out", "secret", "work"} {
		if err := os.MkdirAll(in(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"real/data/a": "A\n", "secret/s": "S\n", "work/w": "W\n"} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", in("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(in("secret"), in("out/way")); err != nil {
		t.Fatal(err)
	}
	c := shown(t, []string{in("link/data"), in("work")}, []string{in("out")})
	c.PrivateTemp = true
	got := script(t, c, []string{"TMPDIR=" + dir}, in("work"), fmt.Sprintf(`
cat w %[1]s/link/data/a %[1]s/real/data/a
cat %[1]s/secret/s %[1]s/out/way/s 2>&1 | sed 's/.*: //'
echo x > %[1]s/out/new; cat %[1]s/out/new
(echo x > %[1]s/work/new) 2>/dev/null || echo read-only
echo t > $TMPDIR/t && cat $TMPDIR/t
test -e %[1]s/secret || echo hidden
pwd | sed "s,%[1]s,,"
ls /`, dir), nil)
	want := "W\nA\nA\nNo such file or directory\nNo such file or directory\nx\nread-only\nt\nhidden\n/work\nls: cannot open directory '/': Permission denied\n"
	if got != want {
		t.Errorf("output:\n%s\nwant:\n%s", got, want)
	}
	left, err := filepath.Glob(in(tempPattern))
	if err != nil || len(left) > 0 {
		t.Errorf("directories for temporary files remain: %v (%v)", left, err)
	}
}

// TestStartFails checks that a process that cannot be confined is not started.
func TestStartFails(t *testing.T) {
	c := shown(t, nil, nil)
	if got := script(t, &sandbox.Confinement{Files: true, Hidden: true, Read: []string{"/none"}}, nil, "/", "echo no", nil); got != "error: cannot hide files: lstat /none: no such file or directory" {
		t.Error(got)
	}
	dir := t.TempDir()
	if got := script(t, c, nil, dir, "echo no", nil); got != "error: cannot hide files: its working directory "+dir+" is not in the sandbox: add it to `read` or `write`" {
		t.Error(got)
	}
	c.Read = nil
	if got := script(t, c, nil, "/", "echo no", nil); got != "error: cannot run /bin/sh in its sandbox: it, or its interpreter, is not in the sandbox: add it to `read`" {
		t.Error(got)
	}
	c = enforced(t, sandbox.Confinement{Offline: true, Loopback: true, Proxy: &sandbox.Proxy{}})
	_, err := Start(&procgroup.Run{ID: procgroup.NewID(), Executable: "/bin/true"}, procgroup.Command{Name: "x", Path: "/bin/true", Dir: "/"}, c, nil)
	if _, ok := errors.AsType[*sandbox.Error](err); !ok || err.Error() != "it exited before its network was set up" {
		t.Errorf("error = %#v, want a *sandbox.Error", err)
	}
}

// TestStartFailsClosed checks that a failed start leaves no files open, also not the listener of a
// proxy.
func TestStartFailsClosed(t *testing.T) {
	c := enforced(t, sandbox.Confinement{Offline: true, Loopback: true, Proxy: &sandbox.Proxy{}})
	var before int
	for i := range 3 {
		if _, err := Start(ours(), procgroup.Command{Name: "x", Path: "/none", Dir: "/"}, c, nil); err == nil {
			t.Fatal("the start does not fail")
		}
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 { // what all starts share is open now
			before = len(open)
		}
		if len(open) > before {
			t.Errorf("%d files are open after start %d, %d after the first", len(open), i+1, before)
		}
	}
	x, err := newProxy(&sandbox.Proxy{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	x.close()
	if err := errors.Join(x.serve(file), file.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("a proxy that was closed before it serves accepts connections")
	}
}

// TestStderrWaits checks that Start returns although the callbacks for standard error wait until it
// has returned, and that they receive what the command writes, but not why it was not executed.
func TestStderrWaits(t *testing.T) {
	c := shown(t, nil, nil)
	for command, want := range map[string]string{"/bin/sh": "out\nout ", "/none": ""} {
		var got strings.Builder
		returned := make(chan struct{})
		p, err := Start(ours(), procgroup.Command{Name: "x", Path: command, Args: []string{"-c", "echo out >&2"}, Dir: "/",
			Stderr: func(line []byte) { <-returned; fmt.Fprintf(&got, "%s ", line) },
			Errors: func(piece []byte) { <-returned; got.Write(piece) },
		}, c, nil)
		close(returned)
		if (err == nil) != (want != "") {
			t.Errorf("%s: error %v", command, err)
		}
		if err == nil {
			p.Stdin.Close()
			<-p.GroupDone()
		}
		if got.String() != want {
			t.Errorf("the callbacks for %s received %q, want %q", command, got.String(), want)
		}
	}
}

// TestAbandonedTemp checks that directories of killed processes are removed, and others are not.
func TestAbandonedTemp(t *testing.T) {
	dir := t.TempDir()
	own, remove, err := makeTemp([]string{"TMPDIR=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "concerto-x")
	for _, path := range []string{filepath.Join(dir, "concerto-host-7", "a"), other} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	removeAbandoned(dir)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 || left[0] != own || left[1] != other {
		t.Errorf("remaining directories = %v (%v), want %s and %s", left, err, own, other)
	}
	remove()
	if _, err := os.Stat(own); err == nil {
		t.Errorf("%s remains", own)
	}
}

// TestTempFails checks that a directory for temporary files that cannot be locked is removed, and
// that the error is returned.
func TestTempFails(t *testing.T) {
	dir := t.TempDir()
	_, remove, err := makeTemp([]string{"TMPDIR=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	remove()
	var limit, none syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none.Max = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, _, err = makeTemp([]string{"TMPDIR=" + dir})
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("error = %v, want %v", err, syscall.EMFILE)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("directories remain: %v (%v)", left, err)
	}
}

// TestProxy checks which requests the proxy of a sandbox answers, and that it is the only way out.
func TestProxy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s%s", r.Method, r.Host, r.RequestURI)
	}))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := net.SplitHostPort(at)
	c := enforced(t, sandbox.Confinement{Offline: true, Loopback: true, Proxy: &sandbox.Proxy{Allow: []string{at, "*.example.org"}, Section: "hosts.x.sandbox"}})
	file := filepath.Join(t.TempDir(), "client.pl")
	if err := os.WriteFile(file, fmt.Appendf(nil, `
use IO::Socket::INET;
my ($p) = $ENV{HTTPS_PROXY} =~ m,//(.*),;
print $ENV{http_proxy} eq $ENV{ALL_PROXY} && $ENV{NO_PROXY} eq "" ? "set\n" : "unset\n";
sub try { my $s = IO::Socket::INET->new($p) or die; print $s $_[0]; local $/; $_ = <$s>; s/\r//g; my ($h, $b) = split /\n\n/, $_, 2; $b =~ s/\n.*//s; print((split /\n/, $h)[0], " | $b\n"); }
try "GET http://%[1]s/ HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n";
try "GET http://%[1]s/?a=1;b=2&c=%%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
try "CONNECT %[1]s HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: y\r\nConnection: close\r\n\r\n";
try "CONNECT a.example.org:22 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" for 1 .. 2;
try "GET http://169.254.169.254/latest HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
try "GET http://localhost:%[2]s/ HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n";
try "GET / HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n";
try "GET http://%[1]s/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: " . "x" x 100000 . "\r\n\r\n";
print IO::Socket::INET->new("%[1]s") ? "direct\n" : "no way out\n";
`, at, port), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var blocked []string
	got := script(t, c, []string{"NO_PROXY=*"}, "/", "perl "+file, func(address string) {
		mu.Lock()
		defer mu.Unlock()
		blocked = append(blocked, address)
	})
	not := func(address string) string {
		return "HTTP/1.1 403 Forbidden | concerto: " + address + " is not in net of [hosts.x.sandbox]\n"
	}
	want := "set\nHTTP/1.1 200 OK | GET " + at + "/\n" +
		"HTTP/1.1 200 OK | GET " + at + "/?a=1;b=2&c=%zz\n" +
		"HTTP/1.1 200 Connection established | HTTP/1.1 200 OK\n" +
		not("a.example.org:22") + not("a.example.org:22") + not("169.254.169.254:80") + not("localhost:"+port) +
		"HTTP/1.1 400 Bad Request | concerto: this is a proxy for CONNECT and http:// requests\n" +
		"HTTP/1.1 431 Request Header Fields Too Large | 431 Request Header Fields Too Large\nno way out\n"
	if got != want {
		t.Errorf("output:\n%s\nwant:\n%s", got, want)
	}
	if text := strings.Join(blocked, " "); text != "a.example.org:22 169.254.169.254:80 localhost:"+port {
		t.Errorf("blocked addresses = %s", text)
	}
}

// TestProxyResolves checks that a name may not resolve to an internal address, unless that address
// is allowed, and that only addresses which the sandbox does not allow are reported.
func TestProxyResolves(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const not, resolves = "concerto: %s is not in net of [s]", "concerto: %s resolves to %s, an internal address that is not in net of [s]"
	for _, c := range []struct{ allow, address, resolved, want string }{
		{"a.example.com:PORT", "a.example.com:PORT", "127.0.0.1", fmt.Sprintf(resolves, "a.example.com:PORT", "127.0.0.1")},
		{"a.example.com:PORT 127.0.0.1:PORT", "A.Example.COM.:PORT", "127.0.0.1", ""},
		{"a.example.com:PORT 127.0.0.1:1", "a.example.com:PORT", "127.0.0.1", fmt.Sprintf(resolves, "a.example.com:PORT", "127.0.0.1")},
		{"a.example.com:PORT", "a.example.com:PORT", "169.254.169.254", fmt.Sprintf(resolves, "a.example.com:PORT", "169.254.169.254")},
		{"a.example.com:PORT", "a.example.com:PORT", "::ffff:10.1.2.3", fmt.Sprintf(resolves, "a.example.com:PORT", "10.1.2.3")},
		{"a.example.com:PORT", "a.example.com:PORT", "64:ff9b::7f00:1", fmt.Sprintf(resolves, "a.example.com:PORT", "64:ff9b::7f00:1")},
		{"a.example.com:PORT", "a.example.com:PORT", "fd00::1", fmt.Sprintf(resolves, "a.example.com:PORT", "fd00::1")},
		{"*.example.com:PORT", "example.com:PORT", "127.0.0.1", fmt.Sprintf(not, "example.com:PORT")},
		{"*.example.com:PORT", "badexample.com:PORT", "127.0.0.1", fmt.Sprintf(not, "badexample.com:PORT")},
		{"127.0.0.1:PORT", "2130706433:PORT", "127.0.0.1", `concerto: "2130706433" is not a host name`},
		{"127.0.0.1:PORT", "a\nb:PORT", "127.0.0.1", `concerto: "a\nb" is not a host name`},
		{"127.0.0.1:PORT", "[fe80::1%x]:PORT", "127.0.0.1", `concerto: "fe80::1%x" is not a host name`},
		{"127.0.0.1:PORT", "[::ffff:127.0.0.1]:PORT", "", ""},
		{"a.example.com", "a.example.com:PORT", "127.0.0.1", fmt.Sprintf(not, "a.example.com:PORT")},
	} {
		fill := func(s string) string {
			return strings.ReplaceAll(s, "PORT", fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
		}
		reported := false
		x, err := newProxy(&sandbox.Proxy{Allow: strings.Fields(fill(c.allow)), Section: "s"}, func(string) { reported = true })
		if err != nil {
			t.Fatal(err)
		}
		x.resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(c.resolved)}, nil
		}
		conn, err := x.dial(t.Context(), fill(c.address))
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			conn.Close()
		}
		if got != fill(c.want) {
			t.Errorf("allowed %s, requested %s: error = %q, want %q", c.allow, c.address, got, fill(c.want))
		}
		if reported != strings.Contains(got, "net of") {
			t.Errorf("allowed %s, requested %s: reported as blocked: %v, error %q", c.allow, c.address, reported, got)
		}
		x.close()
	}
}

// TestLoopback checks that a process without a network can still use its own loopback interface.
func TestLoopback(t *testing.T) {
	c := enforced(t, sandbox.Confinement{Offline: true, Loopback: true})
	if got := script(t, c, nil, "/", `perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die; print IO::Socket::INET->new("127.0.0.1:" . $l->sockport) ? "ok" : "no"'`, nil); got != "ok" {
		t.Error(got)
	}
}
