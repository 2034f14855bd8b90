package hostsandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/host"
)

// Need is a row of the table of files that vendors' agents need in a sandbox.
type Need struct {
	// Transports are the transports of hosts that need the path; nil for all of vendors.
	Transports []string
	// Path may begin with ~, or be $NAME or ${NAME:-PATH}, with a variable of the host's
	// environment and the path that is used without it.
	Path  string
	Write bool
	// Create means that the path is a directory, which is created if it does not exist, because the
	// agent would create it and cannot do that in the sandbox.
	Create bool
	Doc    string // for the manual

	own bool // the process has its own instance, not that of the system
}

// needs is the table. Paths that do not exist are left out, unless Create is set.
var needs = []Need{
	{Path: "/proc", Doc: "the memory map and the limits of the agent's own processes"},
	{Path: "/dev/zero", Write: true, Doc: "devices"},
	{Path: "/dev/full", Write: true, Doc: "devices"},
	{Path: "/dev/random", Doc: "devices"},
	{Path: "/dev/urandom", Doc: "devices"},
	{Path: "/dev/ptmx", Write: true, own: true, Doc: "terminals and shared memory of its own"},
	{Path: "/dev/pts", Write: true, own: true, Doc: "terminals and shared memory of its own"},
	{Path: "/dev/shm", Write: true, own: true, Doc: "terminals and shared memory of its own"},
	{Path: "/etc/ssl", Doc: "certificates"},
	{Path: "/etc/pki", Doc: "certificates"},
	{Path: "/etc/ca-certificates", Doc: "certificates"},
	{Path: "$SSL_CERT_FILE", Doc: "certificates"},
	{Path: "$SSL_CERT_DIR", Doc: "certificates"},
	{Path: "$NODE_EXTRA_CA_CERTS", Doc: "certificates"},
	{Path: "/etc/resolv.conf", Doc: "the resolver"},
	{Path: "/etc/hosts", Doc: "the resolver"},
	{Path: "/etc/host.conf", Doc: "the resolver"},
	{Path: "/etc/gai.conf", Doc: "the resolver"},
	{Path: "/etc/nsswitch.conf", Doc: "the resolver"},
	{Path: "/run/systemd/resolve", Doc: "the resolver"},
	{Path: "/etc/passwd", Doc: "users, time zone and system"},
	{Path: "/etc/group", Doc: "users, time zone and system"},
	{Path: "/etc/localtime", Doc: "users, time zone and system"},
	{Path: "/etc/os-release", Doc: "users, time zone and system"},
	{Transports: []string{claudeCode}, Path: "${CLAUDE_CONFIG_DIR:-~/.claude}", Write: true, Create: true, Doc: "state and login of Claude Code"},
	{Transports: []string{claudeCode}, Path: "~/.claude.json", Write: true, Doc: "state and login of Claude Code"},
	{Transports: []string{claudeCode}, Path: "~/.cache/claude-cli-nodejs", Write: true, Doc: "state and login of Claude Code"},
	{Transports: []string{claudeCode}, Path: "~/.local/share/claude", Doc: "the program of Claude Code"},
	{Transports: []string{codex}, Path: "${CODEX_HOME:-~/.codex}", Write: true, Create: true, Doc: "state and login of Codex"},
}

// The transports of vendors' agents with files of their own.
const (
	claudeCode = "claude-code"
	codex      = "codex"
)

// Needs returns the rows that apply to a host, and rows for its program: its package and its
// interpreter. path is the path of the program.
func Needs(c *host.Config, path string, environ []string) []Need {
	if !host.UsesAdapter(c) {
		return nil
	}
	var out []Need
	for _, dir := range programDirs(path, environ) {
		out = append(out, Need{Path: dir, Doc: "the program, its interpreter and its modules"})
	}
	for _, n := range needs {
		if n.Transports == nil || slices.Contains(n.Transports, c.Transport) {
			out = append(out, n)
		}
	}
	return out
}

// Absolute returns the path of the row as an absolute path. ok is false if it has none in this
// environment.
func (n Need) Absolute(environ []string) (path string, ok bool) {
	path = n.Path
	if name, isChoice := strings.CutPrefix(path, "${"); isChoice {
		name, other, _ := strings.Cut(strings.TrimSuffix(name, "}"), ":-")
		if path, _ = procgroup.LookupEnv(environ, name); path == "" {
			path = other
		}
	}
	if name, isVariable := strings.CutPrefix(path, "$"); isVariable {
		path, _ = procgroup.LookupEnv(environ, name)
	}
	if below, isHome := strings.CutPrefix(path, "~/"); isHome {
		home, _ := procgroup.LookupEnv(environ, "HOME")
		path = filepath.Join(home, below)
	}
	return path, filepath.IsAbs(path)
}

// Exists reports whether the path of the row exists in this environment.
func (n Need) Exists(environ []string) bool {
	path, ok := n.Absolute(environ)
	if ok {
		_, err := os.Stat(path)
		ok = err == nil
	}
	return ok
}

// programDirs returns the directories that a program needs to run: its own, that of its package,
// and those of its interpreter.
func programDirs(path string, environ []string) []string {
	real := realPath(path)
	dirs := []string{filepath.Dir(path), packageDir(real)}
	if interpreter := interpreterOf(real, environ); interpreter != "" {
		real := realPath(interpreter)
		dirs = append(dirs, filepath.Dir(interpreter), filepath.Dir(real))
		if prefix := filepath.Dir(filepath.Dir(real)); filepath.Base(filepath.Dir(real)) == "bin" && prefix != "/" {
			dirs = append(dirs, filepath.Join(prefix, "lib"))
		}
	}
	slices.Sort(dirs)
	return slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
}

// packageDir returns the directory that contains a program with the modules that it may load: for
// an npm package the outermost node_modules, otherwise the program's own directory.
func packageDir(path string) string {
	const modules = "/node_modules/"
	if at := strings.Index(path, modules); at >= 0 {
		return path[:at+len(modules)-1]
	}
	return filepath.Dir(path)
}

// interpreterOf returns the path of the interpreter in the first line of a program, or "".
func interpreterOf(path string, environ []string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	command, ok := strings.CutPrefix(string(line), "#!")
	words := strings.Fields(command)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") })
		if len(words) == 0 {
			return ""
		}
	}
	found, err := procgroup.Find(words[0], "/", environ)
	if err != nil {
		return ""
	}
	return found
}
