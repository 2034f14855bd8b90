package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// smallRelease writes a release of all targets whose program is a script that prints its version.
func smallRelease(t *testing.T, program string) (r *release, dir string) {
	t.Helper()
	r = &release{version: "1.2.3", commit: strings.Repeat("0", 40), date: time.Unix(1700000000, 0).UTC(), modified: time.Unix(1700000000, 0).UTC(),
		source: filepath.Join("..", ".."), targets: Targets, out: t.TempDir(), work: t.TempDir(), sums: map[string]string{}, licence: entry{name: "LICENSE", data: []byte("licence")}}
	for _, name := range []string{"man/man1/concerto.1", "man/man7/concerto-paths.7", "completions/concerto.bash", "completions/concerto.zsh",
		"completions/concerto.fish", "completions/concerto.ps1"} {
		r.common = append(r.common, entry{name: name, data: []byte(name)})
	}
	r.playground = []entry{{name: "playground/index.html", data: []byte("page")}}
	for _, target := range Targets {
		p := &parts{target: target, licences: []entry{{name: "licenses/golang/std/LICENSE", data: []byte("licence")}}}
		for _, name := range Programs {
			p.programs = append(p.programs, entry{name: target.exe(name), executable: true, data: []byte(program)})
		}
		if err := r.writeFormats(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.writeFormats(nil); err != nil {
		t.Fatal(err)
	}
	return r, r.out
}

const working = "#!/bin/sh\necho \"concerto 1.2.3 ($1)\"\n"

// installation is a run of install.sh.
type installation struct {
	t    *testing.T
	home string
	from string   // directory of the release
	path string   // value of PATH
	env  []string // further variables
}

// newInstallation returns an installation of a release by a user with an empty home. It skips the
// test if there is no shell, and so no install.sh.
func newInstallation(t *testing.T, from string) *installation {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("install.sh is not for Windows")
	}
	return &installation{t: t, home: t.TempDir(), from: from, path: os.Getenv("PATH")}
}

// shell is the shell that runs install.sh: dash, where it is available, because it has no
// extensions.
func shell() string {
	if sh, err := exec.LookPath("dash"); err == nil {
		return sh
	}
	return "/bin/sh"
}

// run runs a script of the given text with arguments, and returns its output and exit code.
func (i *installation) runText(script string, args ...string) (out string, code int) {
	i.t.Helper()
	c := exec.Command(shell(), append([]string{"-s", "--"}, args...)...)
	c.Stdin = strings.NewReader(script)
	c.Dir, c.Env = i.home, append([]string{"HOME=" + i.home, "PATH=" + i.path}, i.env...)
	text, err := c.CombinedOutput()
	if c.ProcessState == nil {
		i.t.Fatal(err)
	}
	return string(text), c.ProcessState.ExitCode()
}

// script returns the text of install.sh.
func (i *installation) script() string {
	i.t.Helper()
	text, err := os.ReadFile(filepath.Join(i.from, "install.sh"))
	if err != nil {
		i.t.Fatal(err)
	}
	return string(text)
}

// run runs install.sh of the release.
func (i *installation) run(args ...string) (out string, code int) {
	i.t.Helper()
	return i.runText(i.script(), args...)
}

// tools makes a directory the value of PATH that has the given commands only.
func (i *installation) tools(commands ...string) string {
	i.t.Helper()
	dir := i.t.TempDir()
	for _, name := range commands {
		file, err := exec.LookPath(name)
		if err != nil {
			i.t.Skipf("%s is not in PATH", name)
		}
		if err := os.Symlink(file, filepath.Join(dir, name)); err != nil {
			i.t.Fatal(err)
		}
	}
	i.path = dir
	return dir
}

// usual are the commands that install.sh uses apart from those that download.
var usual = strings.Fields("uname tar gzip mktemp mkdir rmdir rm mv cp dirname sha256sum")

// installed returns the files below the home, with the mode of executables.
func (i *installation) installed() string {
	i.t.Helper()
	var names []string
	err := filepath.WalkDir(i.home, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(i.home, name)
		if info, err := d.Info(); err == nil && info.Mode()&0o111 != 0 {
			rel += "*"
		}
		names = append(names, rel)
		return nil
	})
	if err != nil {
		i.t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

const everything = `.local/bin/concerto*
.local/bin/concerto-relay*
.local/share/bash-completion/completions/concerto
.local/share/concerto/completions/concerto.ps1
.local/share/concerto/playground/index.html
.local/share/doc/concerto/LICENSE
.local/share/doc/concerto/README.md
.local/share/doc/concerto/licenses/golang/std/LICENSE
.local/share/fish/vendor_completions.d/concerto.fish
.local/share/man/man1/concerto.1
.local/share/man/man7/concerto-paths.7
.local/share/zsh/site-functions/_concerto`

// TestInstallSh installs into an empty home, and again over the result.
func TestInstallSh(t *testing.T) {
	_, from := smallRelease(t, working)
	i := newInstallation(t, from)
	out, code := i.run("--from", from)
	bin := filepath.Join(i.home, ".local", "bin")
	want := fmt.Sprintf("installing %s from %s\ninstalled concerto 1.2.3 (version) in %s\nadd this line to the profile of your shell:\n  export PATH=\"%s:$PATH\"\n",
		i.archive(), from, bin, bin)
	if code != 0 || out != want {
		t.Fatalf("exit code %d, output %q, want %q", code, out, want)
	}
	if got := i.installed(); got != everything {
		t.Errorf("installed files:\n%s\nwant:\n%s", got, everything)
	}
	i.path += ":" + bin
	write(t, filepath.Join(i.home, ".local/share/concerto/playground/outdated.html"), "", 0o644)
	write(t, filepath.Join(i.home, ".local/share/concerto/notes.txt"), "", 0o644) // of another program
	write(t, filepath.Join(bin, "concerto"), "#!/bin/sh\necho concerto 9.9.9\n", 0o755)
	if out, code := i.run("--from=" + from + "/"); code != 0 || strings.Contains(out, "add this line") || !strings.Contains(out, "installed concerto 1.2.3") {
		t.Errorf("exit code %d, output %q", code, out)
	}
	if got, want := i.installed(), strings.Replace(everything, "playground", "notes.txt\n.local/share/concerto/playground", 1); got != want {
		t.Errorf("installed files:\n%s\nwant:\n%s", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(bin, "concerto")); err != nil || string(text) != working {
		t.Errorf("the newer version was not replaced: %q, error %v", text, err)
	}
}

// archive returns the name of the archive for this machine.
func (i *installation) archive() string {
	i.t.Helper()
	r := release{version: "1.2.3"}
	return r.archiveName(Target{OS: runtime.GOOS, Arch: runtime.GOARCH})
}

// TestInstallPlaces checks the values of --dir and --from.
func TestInstallPlaces(t *testing.T) {
	_, from := smallRelease(t, working)
	server := httptest.NewServer(http.FileServer(http.Dir(from)))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	for name, x := range map[string]struct {
		args   []string
		env    string
		tools  string // commands next to the usual ones, unless PATH is used
		code   int
		output string
		bin    string // directory of the executables; .local/bin by default
	}{
		"a variable":           {env: "CONCERTO_INSTALL_FROM=" + from},
		"a flag is stronger":   {env: "CONCERTO_INSTALL_FROM=/x", args: []string{"--from", from}},
		"no place":             {code: 1, output: "install.sh: the place of the archives is not known: pass --from"},
		"no directory":         {args: []string{"--from", "/x/y"}, code: 1, output: "install.sh: /x/y is not a directory"},
		"an empty directory":   {args: []string{"--from", "."}, code: 1, output: "install.sh: cannot get ./concerto_1.2.3_"},
		"loopback":             {args: []string{"--from", server.URL}},
		"localhost":            {args: []string{"--from", "http://localhost:" + port}},
		"curl":                 {args: []string{"--from", server.URL}, tools: "curl"},
		"wget":                 {args: []string{"--from", server.URL}, tools: "wget"},
		"a proxy":              {args: []string{"--from", server.URL}, env: "http_proxy=http://127.0.0.1:1", tools: "curl"},
		"a proxy for wget":     {args: []string{"--from", server.URL}, env: "http_proxy=http://127.0.0.1:1", tools: "wget"},
		"a directory":          {args: []string{"--from", from}, tools: "sed"},
		"neither":              {args: []string{"--from", server.URL}, tools: "sed", code: 1, output: "install.sh: curl or wget is required to download " + server.URL},
		"not found":            {args: []string{"--from", server.URL + "/x"}, code: 1, output: "nothing was installed"},
		"http":                 {args: []string{"--from", "http://example.com"}, code: 1, output: "install.sh: http://example.com is not encrypted"},
		"like this machine":    {args: []string{"--from", "http://127.0.0.1.example.com"}, code: 1, output: "is not encrypted"},
		"like localhost":       {args: []string{"--from", "http://localhost.example.com"}, code: 1, output: "is not encrypted"},
		"a user":               {args: []string{"--from", "http://localhost:80@example.com/x"}, code: 1, output: "is not encrypted"},
		"another scheme":       {args: []string{"--from", "ftp://example.com"}, code: 1, output: "is neither an https address"},
		"a directory by name":  {args: []string{"--from", from, "--dir", "my bin"}, bin: "my bin"},
		"an absolute one":      {args: []string{"--dir=" + t.TempDir() + "/a/b", "--from", from}, bin: "absolute"},
		"an unknown argument":  {args: []string{"--prefix", "/x"}, code: 2, output: "install.sh: unknown argument --prefix; usage: sh install.sh"},
		"an argument too few":  {args: []string{"--dir"}, code: 2, output: "install.sh: --dir requires a value"},
		"an empty value":       {args: []string{"--dir", ""}, code: 2, output: "install.sh: --dir requires a value"},
		"help":                 {args: []string{"--help"}, bin: "none", output: "usage: sh install.sh [--dir DIR] [--from BASE]\n"},
		"a file instead":       {args: []string{"--from", from, "--dir", "file/bin"}, code: 1, output: "cannot create"},
		"a directory concerto": {args: []string{"--from", from, "--dir", "used"}, code: 1, output: "used/concerto is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstallation(t, from)
			write(t, filepath.Join(i.home, "file"), "", 0o644)
			write(t, filepath.Join(i.home, "used", "concerto", "x"), "", 0o644)
			before := i.installed()
			if x.tools != "" {
				i.tools(append(strings.Fields(x.tools), usual...)...)
			}
			if x.env != "" {
				i.env = []string{x.env}
			}
			out, code := i.run(x.args...)
			if code != x.code || !strings.Contains(out, x.output) {
				t.Fatalf("exit code %d, output %q, want %d and %q", code, out, x.code, x.output)
			}
			if code != 0 || x.bin == "none" {
				if got := i.installed(); got != before {
					t.Errorf("files = %q, want %q", got, before)
				}
				return
			}
			bin := filepath.Join(i.home, ".local", "bin")
			if x.bin == "absolute" {
				bin = strings.TrimPrefix(x.args[0], "--dir=")
			} else if x.bin != "" {
				bin = filepath.Join(i.home, x.bin)
			}
			for _, file := range []string{filepath.Join(bin, "concerto"), filepath.Join(bin, "concerto-relay"), filepath.Join(bin, "..", "share", "man", "man1", "concerto.1")} {
				if _, err := os.Stat(file); err != nil {
					t.Error(err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(bin, ".concerto.*")); len(left) > 0 {
				t.Errorf("temporary files stay: %q", left)
			}
		})
	}
}

// TestInstallFails checks that the old executables stay if an installation fails.
func TestInstallFails(t *testing.T) {
	const old = "#!/bin/sh\necho old\n"
	flip := func(name string) func(*testing.T, *installation) {
		return func(t *testing.T, i *installation) {
			file := filepath.Join(i.from, name)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text[len(text)/2] ^= 1
			write(t, file, string(text), 0o644)
		}
	}
	name := func(i *installation) string { return i.archive() }
	for what, x := range map[string]struct {
		program string
		prepare func(*testing.T, *installation)
		limit   string // commands before the script, in its shell
		reason  string
	}{
		"a flipped bit": {prepare: func(t *testing.T, i *installation) { flip(name(i))(t, i) }, reason: "checksum"},
		"a short archive": {prepare: func(t *testing.T, i *installation) {
			if err := os.Truncate(filepath.Join(i.from, name(i)), 100); err != nil {
				t.Fatal(err)
			}
		}, reason: "checksum"},
		"an empty archive": {prepare: func(t *testing.T, i *installation) {
			if err := os.Truncate(filepath.Join(i.from, name(i)), 0); err != nil {
				t.Fatal(err)
			}
		}, reason: "checksum"},
		"an unknown system": {prepare: fake("uname", "echo Plan9"), reason: "install.sh: concerto 1.2.3 has no archive for Plan9 Plan9; it requires one of: linux/amd64, linux/arm64, darwin/amd64, darwin/arm64\n"},
		"an unknown machine": {prepare: fake("uname", `if [ "$1" = -m ]; then echo riscv64; else echo Linux; fi`),
			reason: "install.sh: concerto 1.2.3 has no archive for Linux riscv64; it requires one of: "},
		"Windows": {prepare: fake("uname", "echo MINGW64_NT"), reason: "install.sh: on Windows, use install.ps1\n"},
		"a program that does not run": {program: "#!/bin/sh\nexit 1\n",
			reason: "install.sh: concerto does not run on this system; nothing was installed\n"},
		"a full disk":                 {limit: "ulimit -f 0; ", reason: "nothing was installed"},
		"a full disk when unpacking":  {prepare: fake("tar", "exit 2"), reason: "install.sh: cannot unpack concerto_1.2.3_"},
		"a full disk in share":        {prepare: fake("cp", `case $*/ in *man*) exit 1 ;; *) exec /bin/cp "$@" ;; esac`), reason: "/share; nothing was installed\n"},
		"a share that is a file":      {prepare: func(t *testing.T, i *installation) { write(t, filepath.Join(i.home, ".local", "share"), "", 0o644) }, reason: "/share; nothing was installed\n"},
		"no command for the checksum": {prepare: func(t *testing.T, i *installation) { i.tools(usual[:len(usual)-1]...) }, reason: "install.sh: sha256sum, shasum or openssl is required\n"},
		"no tar":                      {prepare: func(t *testing.T, i *installation) { i.tools("uname", "gzip", "mktemp", "rm") }, reason: "install.sh: tar is required\n"},
	} {
		t.Run(what, func(t *testing.T) {
			program := x.program
			if program == "" {
				program = working
			}
			_, from := smallRelease(t, program)
			i := newInstallation(t, from)
			bin := filepath.Join(i.home, ".local", "bin")
			for _, p := range Programs {
				write(t, filepath.Join(bin, p), old, 0o755)
			}
			if x.prepare != nil {
				x.prepare(t, i)
			}
			before := i.installed()
			out, code := i.runText(x.limit+i.script(), "--from", from)
			if code != 1 || !strings.Contains(out, x.reason) {
				t.Errorf("exit code %d, output %q, want 1 and %q", code, out, x.reason)
			}
			if x.reason == "checksum" {
				got, _ := os.ReadFile(filepath.Join(from, name(i)))
				sum := sha256.Sum256(got)
				want := fmt.Sprintf("install.sh: checksum of %s does not match: expected %s, got %s; nothing was installed\n", name(i), i.expected(), hex.EncodeToString(sum[:]))
				if !strings.Contains(out, want) {
					t.Errorf("output %q, want %q", out, want)
				}
			}
			if got := i.installed(); got != before {
				t.Errorf("files = %q, want %q", got, before)
			}
			for _, p := range Programs {
				if text, err := os.ReadFile(filepath.Join(bin, p)); err != nil || string(text) != old {
					t.Errorf("the old %s was replaced: %q, error %v", p, text, err)
				}
			}
		})
	}
}

// expected returns the hash of the archive in SHA256SUMS.
func (i *installation) expected() string {
	i.t.Helper()
	text, err := os.ReadFile(filepath.Join(i.from, checksumsFile))
	if err != nil {
		i.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if sum, name, _ := strings.Cut(strings.TrimSpace(line), "  "); name == i.archive() {
			return sum
		}
	}
	i.t.Fatal("no hash")
	return ""
}

// fake returns a function that puts a script before a command in PATH.
func fake(command, script string) func(*testing.T, *installation) {
	return func(t *testing.T, i *installation) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, command), "#!/bin/sh\n"+script+"\n", 0o755)
		i.path = dir + ":" + i.path
	}
}

// TestCutScript checks that a part of install.sh installs nothing: cut after any line, and after
// any character of the last lines.
func TestCutScript(t *testing.T) {
	_, from := smallRelease(t, working)
	i := newInstallation(t, from)
	i.env = []string{"CONCERTO_INSTALL_FROM=" + from}
	script := i.script()
	whole := strings.TrimRight(script, "\n")
	var ends []int
	for n := range whole {
		if whole[n] == '\n' || n > len(whole)-80 {
			ends = append(ends, n)
		}
	}
	if len(ends) < 200 {
		t.Fatalf("the script has only %d ends", len(ends))
	}
	for _, n := range ends {
		if out, _ := i.runText(script[:n], "--dir", "bin"); i.installed() != "" || strings.Contains(out, "installing") {
			t.Fatalf("the script installs after %q: %s", script[max(0, n-40):n], out)
		}
	}
	if out, code := i.runText(whole, "--dir", "bin"); code != 0 || i.installed() == "" {
		t.Errorf("the whole script: exit code %d, output %q", code, out)
	}
}

// TestNotWritable checks a directory that the user cannot write to.
func TestNotWritable(t *testing.T) {
	_, from := smallRelease(t, working)
	i := newInstallation(t, from)
	bin := "/proc" // not even root can write to it
	if os.Getuid() != 0 {
		bin = filepath.Join(i.home, "bin")
		if err := os.Mkdir(bin, 0o555); err != nil {
			t.Fatal(err)
		}
	} else if runtime.GOOS != "linux" {
		t.Skip("root can write to every directory")
	}
	out, code := i.run("--from", from, "--dir", bin)
	if code != 1 || !strings.Contains(out, "install.sh: cannot write to "+bin+": pass another directory with --dir\n") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}
