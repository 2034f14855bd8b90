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
	Path       string // may begin with ~ or with $NAME, a variable of the host's environment
	Write      bool
	Doc        string // for the manual
}

// needs is the table. Paths that do not exist are left out.
var needs = []Need{
	{Path: "/proc", Doc: "the memory map and the limits of the agent's own processes"},
	{Path: "/dev/zero", Write: true, Doc: "devices"},
	{Path: "/dev/full", Write: true, Doc: "devices"},
	{Path: "/dev/random", Doc: "devices"},
	{Path: "/dev/urandom", Doc: "devices"},
	{Path: "/dev/tty", Write: true, Doc: "devices"},
	{Path: "/dev/ptmx", Write: true, Doc: "devices"},
	{Path: "/dev/pts", Write: true, Doc: "devices"},
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
	{Transports: []string{claudeCode}, Path: "$CLAUDE_CONFIG_DIR", Write: true, Doc: "state and login of Claude Code"},
	{Transports: []string{claudeCode}, Path: "~/.claude", Write: true, Doc: "state and login of Claude Code"},
	{Transports: []string{claudeCode}, Path: "~/.claude.json", Write: true, Doc: "state and login of Claude Code"},
	{Transports: []string{claudeCode}, Path: "~/.cache/claude-cli-nodejs", Write: true, Doc: "state and login of Claude Code"},
	{Transports: []string{claudeCode}, Path: "~/.local/share/claude", Doc: "the program of Claude Code"},
	{Transports: []string{codex}, Path: "$CODEX_HOME", Write: true, Doc: "state and login of Codex"},
	{Transports: []string{codex}, Path: "~/.codex", Write: true, Doc: "state and login of Codex"},
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

// Existing returns the path of the row as an absolute path, or nil if it does not exist.
func (n Need) Existing(environ []string) []string {
	path := n.Path
	switch {
	case strings.HasPrefix(path, "~/"):
		home, ok := procgroup.LookupEnv(environ, "HOME")
		if !ok {
			return nil
		}
		path = filepath.Join(home, path[2:])
	case strings.HasPrefix(path, "$"):
		path, _ = procgroup.LookupEnv(environ, path[1:])
	}
	if _, err := os.Stat(path); err != nil || !filepath.IsAbs(path) {
		return nil
	}
	return []string{path}
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
