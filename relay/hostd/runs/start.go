package runs

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// Spec describes a run to start.
type Spec struct {
	Tool  string
	Cmd   string // argument of bash -lc; "" runs Tool itself
	Cwd   string // working directory; "" means the first root
	Title string
	Cols  int64 // columns of the terminal; 0 means 80
	Rows  int64 // rows of the terminal; 0 means 24
	// Ancestors lists the runs that started this run directly or indirectly, the nearest first.
	Ancestors []string
}

// Start starts a run. It creates the directory of the run, starts the PTY holder and commits
// run.started. It returns the id of the run.
func (m *Manager) Start(ctx context.Context, s Spec) (string, error) {
	if s.Tool == "" {
		return "", approvals.Errorf(protocol.BadMessage, "tool is missing: name the program, such as bash or claude")
	}
	cwd, err := m.resolveCwd(s.Cwd)
	if err != nil {
		return "", err
	}
	if s.Cols == 0 || s.Rows == 0 {
		s.Cols, s.Rows = 80, 24
	}
	id := newID()
	spec := ptyholder.Spec{Dir: filepath.Join(m.o.Dir, id), Cwd: cwd, Cols: s.Cols, Rows: s.Rows, Env: m.environ(id, s.Tool, cwd)}
	if err := m.setProgram(&spec, s); err != nil {
		return "", err
	}
	if err := os.Mkdir(spec.Dir, 0o700); err != nil {
		return "", fmt.Errorf("create the run's directory: %w", err)
	}
	now := time.Now().UTC()
	of := meta{StartedAt: protocol.Timestamp(now), Started: protocol.Started{Tool: s.Tool, Cwd: cwd, Command: m.o.Redact.In(cwd).Text(commandText(s)), Title: s.Title, Source: "pty",
		Cols: &s.Cols, Rows: &s.Rows}, Ancestors: s.Ancestors}
	if len(s.Ancestors) > 0 {
		of.Started.ParentRunID = s.Ancestors[0]
	}
	// The processes of the run may send requests before track returns.
	m.mu.Lock()
	m.starting[id] = s.Ancestors
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.starting, id)
		m.mu.Unlock()
	}()
	if of.PID, err = ptyholder.Start(m.o.Holder[0], m.o.Holder[1:], spec); err != nil {
		return "", errors.Join(approvals.Errorf(protocol.Internal, "%v", err), os.RemoveAll(spec.Dir))
	}
	if err := m.track(ctx, id, spec.Dir, of); err != nil {
		return "", errors.Join(err, m.discard(spec.Dir))
	}
	return id, nil
}

// track commits the start of a run and follows its output.
func (m *Manager) track(ctx context.Context, id, dir string, of meta) error {
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, metaFile), text, 0o600); err != nil {
		return fmt.Errorf("store the run: %w", err)
	}
	if _, err := m.o.Spool.Append(ctx, id, spool.Event{Type: protocol.RunStarted, Data: of.Started}); err != nil {
		return fmt.Errorf("report the run: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, startedFile), nil, 0o600); err != nil {
		m.o.Log.Error("could not write the marker of a run", "run", id, "error", err)
	}
	r, err := m.attach(id, dir, of, 0)
	if err != nil {
		return err
	}
	m.work.Go(r.followOutput)
	return nil
}

func commandText(s Spec) string {
	if s.Cmd == "" {
		return s.Tool
	}
	return s.Cmd
}

// newID returns a globally unique id of a run.
func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return "run_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// resolveDir returns the absolute path of a directory without symbolic links.
func resolveDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return dir, err
}

// resolveCwd returns the working directory of a run without symbolic links. It returns an error if
// the directory is not below a root.
func (m *Manager) resolveCwd(dir string) (string, error) {
	if dir == "" {
		return m.o.Roots[0], nil
	}
	if !filepath.IsAbs(dir) {
		return "", approvals.Errorf(protocol.BadMessage, "cwd must be absolute, not %s", dir)
	}
	real, err := resolveDir(dir)
	if err != nil {
		return "", approvals.Errorf(protocol.Code(protocol.NotFound), "cwd: %v", err)
	}
	for _, root := range m.o.Roots {
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
			return real, nil
		}
	}
	return "", approvals.Errorf(protocol.Code(protocol.OutOfScope), "cwd %s is not below a root of this machine (%s): add one with hostd --root", dir, strings.Join(m.o.Roots, ", "))
}

// withheldEnv lists the variables of hostd that runs do not receive. With them a run could act as
// the machine or read the relay's database.
var withheldEnv = []string{"HOST_TOKEN", "HOST_ID", "DATABASE_URL", "ADMIN_PASSWORD_HASH", "ADMIN_USERNAME", "CONCERTO_RELAY_SOCK", "RELAY_RUN_ID", "RELAY_TOOL", "RELAY_CWD", "RELAY_HOSTD_SOCK", "TERM", "PWD", "COLUMNS", "LINES"}

func (m *Manager) environ(id, tool, cwd string) []string {
	env := slices.DeleteFunc(slices.Clone(m.o.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(withheldEnv, name)
	})
	return append(env, "RELAY_RUN_ID="+id, "RELAY_TOOL="+tool, "RELAY_CWD="+cwd, "RELAY_HOSTD_SOCK="+m.o.Socket, "TERM=xterm-256color", "PWD="+cwd)
}

// setProgram sets the program in spec. It is bash if s contains a command, and otherwise the tool.
func (m *Manager) setProgram(spec *ptyholder.Spec, s Spec) error {
	name := "bash"
	if s.Cmd == "" {
		name = s.Tool
	} else {
		spec.Args = []string{"-lc", s.Cmd}
	}
	path, err := m.lookPath(name, spec)
	if err != nil {
		return err
	}
	spec.Path, spec.Name = path, name
	return nil
}

// lookPath searches the PATH of a run for a program. It skips links to this program, because a link
// with the name of a tool starts the tool through the relay.
func (m *Manager) lookPath(name string, spec *ptyholder.Spec) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	self, _ := os.Stat(m.o.Holder[0])
	for _, dir := range filepath.SplitList(pathVar(spec.Env)) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 || !filepath.IsAbs(path) {
			continue
		}
		if self != nil && os.SameFile(self, info) {
			continue
		}
		return path, nil
	}
	return "", approvals.Errorf(protocol.Code(protocol.MissingDependency), "%s is not installed on this machine, or not in hostd's PATH", name)
}

func pathVar(env []string) string {
	path := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	return path
}
