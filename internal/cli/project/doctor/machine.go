package doctor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/playground/server"
	"github.com/concerto-lang/concerto/internal/process/confine"
	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/procgroup/systems"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/relay/protocol"
)

func (d *doctor) version() result {
	return result{Status: ok, Detail: d.console.Binary.Version()}
}

// path finds another program of this name that the shell starts instead.
func (d *doctor) path() result {
	own := d.console.Binary.Executable
	first, err := procgroup.Find("concerto", d.console.Dir, d.console.Environ)
	switch {
	case err != nil:
		return result{Status: warn, Detail: "concerto is not in PATH", Do: "add " + filepath.Dir(own) + " to PATH"}
	case !console.IsSameFile(first, own):
		return result{Status: warn, Detail: "the first concerto in PATH is " + first + ", and this is " + own, Do: "remove one of them, or put " + filepath.Dir(own) + " first in PATH"}
	case isQuarantined(own):
		return result{Status: warn, Detail: own + " is a quarantined download", Do: "allow it: xattr -d com.apple.quarantine " + own}
	}
	return result{Status: ok, Detail: first}
}

func (d *doctor) terminal() result {
	if missing := systems.Missing("terminal", runtime.GOOS); missing != "" {
		return result{Status: absent, Detail: missing, Do: "`inspect` and `top` need a terminal of another system; `runs` prints the same data"}
	}
	switch t := d.console.TTY; {
	case t.ErrScreen && t.Color:
		return result{Status: ok, Detail: "with colors and lines that change"}
	case t.Err:
		return result{Status: ok, Detail: "without colors or without lines that change, because of NO_COLOR or TERM"}
	}
	return result{Status: ok, Detail: "stderr is no terminal: progress and prompts are plain lines"}
}

func (d *doctor) state() result {
	dir := d.console.StateFile("")
	if dir == "" {
		return result{Status: fail, Detail: "the directory for state is not known", Do: "set HOME, or XDG_STATE_HOME to an absolute path"}
	}
	return checkDir(filepath.Clean(dir), true, "set XDG_STATE_HOME to a directory that can be written")
}

func (d *doctor) cache() result {
	dir, err := pkgcache.Cache{}.Dir()
	if err != nil {
		return result{Status: fail, Detail: err.Error(), Do: "set " + pkgcache.Variable + " to a directory"}
	}
	return checkDir(dir, false, "set "+pkgcache.Variable+" to a directory that can be written")
}

// checkDir checks that a directory can be written, or created, and that no other user can change
// it, or read it if it is private.
func checkDir(dir string, private bool, do string) result {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return result{Status: fail, Detail: dir + " is not a directory", Do: do}
	}
	existing := dir
	for err != nil && filepath.Dir(existing) != existing {
		existing = filepath.Dir(existing)
		_, err = os.Stat(existing)
	}
	if !isWritable(existing) {
		return result{Status: fail, Detail: existing + " cannot be written", Do: do}
	}
	if existing != dir {
		return result{Status: ok, Detail: dir + " (will be created)"}
	}
	mask := os.FileMode(0o022)
	if private {
		mask = 0o077
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&mask != 0 {
		return result{Status: warn, Detail: fmt.Sprintf("%s is open to other users (%v)", dir, info.Mode().Perm()), Do: fmt.Sprintf("chmod %o %s", info.Mode().Perm()&^mask, dir)}
	}
	return result{Status: ok, Detail: dir}
}

func (d *doctor) git() result {
	at, err := procgroup.Find("git", d.console.Dir, d.console.Environ)
	if err == nil {
		_, err = git.NewRemote(d.ctx, d.console.Environ, d.console.Dir)
	}
	if err == nil {
		if _, old := git.New(d.ctx, d.console.Environ, d.console.Dir); old != nil {
			return result{Status: warn, Detail: at + ": " + old.Error(), Do: "workspaces and merges need git " + git.Least + " or newer; packages work"}
		}
		return result{Status: ok, Detail: at}
	}
	r := result{Status: warn, Detail: "git was not found in PATH", Do: "install git " + git.LeastRemote + " or newer: packages, workspaces and merges need it"}
	if at != "" {
		r.Detail = at + ": " + err.Error()
	}
	if d.manifest != nil {
		for _, p := range d.manifest.Dependencies {
			if p.Git != "" {
				r.Status = fail
			}
		}
	}
	return r
}

func (d *doctor) playground() result {
	if dir, found := server.Installed(d.console.Binary.Executable); found {
		return result{Status: ok, Detail: dir}
	}
	return result{Status: warn, Detail: "this build has no playground", Do: "`make playground` in the sources of Concerto writes one; pass it with `concerto playground --files DIR`"}
}

func (d *doctor) sandbox() result {
	if missing := systems.Missing("sandbox", runtime.GOOS); missing != "" {
		return result{Status: absent, Detail: missing, Do: "sections `sandbox` need `missing = \"warn\"` here"}
	}
	lacks, _ := confine.Check(d.console.Processes(), sandbox.Confinement{Files: true, Offline: true, Hidden: true})
	if len(lacks) > 0 {
		return result{Status: warn, Detail: "this machine lacks " + confine.Describe(lacks), Do: "sections `sandbox` that need it fail, unless they have `missing = \"warn\"`"}
	}
	return result{Status: ok, Detail: "files, network and mounts can be limited"}
}

func (d *doctor) keeper() result {
	if missing := systems.Missing("keeper", runtime.GOOS); missing != "" {
		return result{Status: absent, Detail: missing, Do: "hosts stop with the run; resume starts them again"}
	}
	return result{Status: ok, Detail: "hosts can continue after the process of their run"}
}

// relaySocket is the variable with the socket of hostd, to which runs are reported.
const relaySocket = "CONCERTO_RELAY_SOCK"

func (d *doctor) relay() result {
	at := d.console.Getenv(relaySocket)
	isShared := d.manifest != nil && d.manifest.Relay.Share
	if at == "" && !isShared {
		return result{}
	}
	if missing := systems.Missing("hostd", runtime.GOOS); missing != "" {
		return result{Status: absent, Detail: missing, Do: "use WSL"}
	}
	if at == "" {
		at = protocol.HostdSocket(d.console.Getenv)
	}
	c, err := (&net.Dialer{Timeout: contactTime}).DialContext(d.ctx, "unix", at)
	if err != nil {
		return result{Status: fail, Detail: "hostd does not answer at " + at + ": " + console.Cause(err).Error(), Do: "start it with `concerto-relay hostd`; `concerto-relay doctor` checks it"}
	}
	_ = c.Close() // nothing was sent
	return result{Status: ok, Detail: "hostd answers at " + at}
}

// clock compares this machine's clock with those of the servers that were reached.
func (d *doctor) clock() result {
	if len(d.skews) == 0 {
		return result{}
	}
	const tolerated = 30 // seconds
	for _, s := range d.skews {
		if seconds := int64(s.Seconds()); seconds > tolerated || seconds < -tolerated {
			return result{Status: warn, Detail: fmt.Sprintf("this machine's clock differs by %d seconds from a server's", seconds), Do: "set the clock, for example by NTP: signed requests and certificates depend on it"}
		}
	}
	return result{Status: ok, Detail: "as on " + console.Count(len(d.skews), "server")}
}
