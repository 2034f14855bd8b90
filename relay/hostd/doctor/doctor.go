// Package doctor checks whether a machine has what it needs (spec/relay.md). The result of each
// check is ok, a warning or a failure. A warning or failure has a remedy.
package doctor

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/pair"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Status is the result of a check.
type Status string

// The statuses. A machine with a failure does not work.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is the result of one check. Do is the remedy, or "".
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"`
}

// Options configures the checks.
type Options struct {
	Environ   []string
	State     string // hostd's state directory
	Socket    string // path of the local API's socket
	Server    string // the server's URL; "" for a machine without a server
	MachineID string
	TokenFile string // file that contains the token; "" if the token is in the environment
	Token     string // the token from the environment
	LogFile   string // path of the log file; "" if there is none
	// Link and Spool return the state of hostd. They are set when hostd checks itself, and
	// otherwise nil.
	Link  func() link.State
	Spool func() spool.Health

	HTTP *http.Client     // client for requests to the server; nil uses a new client
	Now  func() time.Time // nil means time.Now
}

// Limits at which checks warn or fail.
const (
	probeTimeout = 5 * time.Second
	maxSkew      = 30 * time.Second
	lowSpace     = 1 << 30   // bytes of free disk space below which the check warns
	noSpace      = 100 << 20 // bytes of free disk space below which the check fails
)

// Run runs all checks. It returns the results in the order in which they are displayed.
func Run(ctx context.Context, o Options) []Check {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: probeTimeout}
	}
	all := o.checkPrograms()
	all = append(all, o.checkService(), o.checkState(), o.checkDisk())
	if o.Spool != nil {
		all = append(all, o.checkSpool())
	}
	hostd, running := o.checkHostd(ctx)
	all = append(all, o.checkLog(), hostd)
	if running.Connected { // its settings decide, which differ for `serve --with-hostd`
		o.Server = running.Server
	}
	pairing, err := pair.Load(o.State)
	if pairing != nil && o.Server == "" {
		o.Server = pairing.Server
	}
	switch {
	case err != nil:
		all = append(all, Check{"auth", Fail, err.Error(), "repair or remove the file, then pair again"}, o.checkID(), o.checkToken())
	case pairing != nil && pairing.IsWith(o.Server):
		all = append(all, o.checkPaired(pairing))
	case running.Connected:
		all = append(all, Check{"auth", OK, "the server accepts this machine as " + running.MachineID, ""})
	default:
		all = append(all, o.checkID(), o.checkToken())
	}
	return append(append(all, o.checkAccount()), o.checkServer(ctx)...)
}

// checkAccount checks the account of this machine, whose devices sign the commands to it.
func (o *Options) checkAccount() Check {
	switch all, err := sealer.ReadFiles(o.State); {
	case err != nil:
		return Check{"account", Fail, err.Error(), "restore the file from a backup, or leave the account: concerto-relay seal leave"}
	case all.Fork != "":
		return Check{"account", Fail, "hostd refuses all remote commands: " + all.Fork, "concerto-relay seal status --resolve"}
	case all.Roster != nil:
		return Check{"account", OK, all.Roster.Account(), ""}
	case o.Server == "":
		return Check{"account", OK, "none is needed without a server", ""}
	}
	return Check{"account", Warn, "this machine has none: it performs any command that the server sends", "concerto-relay seal init, or concerto-relay devices join to join another machine's"}
}

// checkPaired checks the pairing of this machine.
func (o *Options) checkPaired(pairing *pair.Pairing) Check {
	if o.MachineID != "" && o.MachineID != pairing.MachineID {
		return Check{"auth", Fail, fmt.Sprintf("this machine was paired as %s, and --host-id is %s", pairing.MachineID, o.MachineID), "omit --host-id, or pair again"}
	}
	return Check{"auth", OK, fmt.Sprintf("by its key (%s), as %s", protocol.Fingerprint(pairing.Private().Public().(ed25519.PublicKey)), pairing.MachineID), ""}
}

// requiredPrograms lists the programs that a machine uses.
var requiredPrograms = []struct {
	name, why, pkg string
	without        Status
}{
	{"bash", "runs are started by it", "bash", Fail},
	{"rg", "rpc.fs.search needs it", "ripgrep", Warn},
	{"git", "rpc.git.status and rpc.git.diff need it", "git", Warn},
}

func (o *Options) checkPrograms() (all []Check) {
	for _, p := range requiredPrograms {
		path, err := procgroup.Find(p.name, "", o.Environ)
		if err != nil {
			install := "apt install " + p.pkg
			if runtime.GOOS == "darwin" {
				install = "brew install " + p.pkg
			}
			all = append(all, Check{p.name, p.without, "is not installed: " + p.why, "install it: " + install})
			continue
		}
		all = append(all, Check{p.name, OK, path, ""})
	}
	return all
}

// checkService checks whether the service manager exists that would restart hostd.
func (o *Options) checkService() Check {
	name, program := "systemd", "systemctl"
	if runtime.GOOS == "darwin" {
		name, program = "launchd", "launchctl"
	}
	path, err := procgroup.Find(program, "", o.Environ)
	if err != nil {
		return Check{name, Warn, "no service is installed: hostd is not restarted after a crash or a reboot", "make the service manager run `concerto-relay hostd`"}
	}
	return Check{name, OK, path, ""}
}

func (o *Options) checkState() Check {
	info, err := os.Stat(o.State)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Check{"state", Warn, o.State + " does not exist", "hostd creates it when it starts"}
	case err != nil:
		return Check{"state", Fail, err.Error(), "name another directory with --state"}
	case !info.IsDir():
		return Check{"state", Fail, o.State + " is not a directory", "name another one with --state"}
	}
	f, err := os.CreateTemp(o.State, ".doctor-*")
	if err != nil {
		return Check{"state", Fail, err.Error(), "allow this user to write to " + o.State}
	}
	_ = f.Close() // ignore the error: the file is empty
	if err := os.Remove(f.Name()); err != nil {
		return Check{"state", Fail, err.Error(), "allow this user to write to " + o.State}
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return Check{"state", Warn, fmt.Sprintf("%s can be read by other users (%v)", o.State, info.Mode().Perm()), "chmod 700 " + o.State}
	}
	return Check{"state", OK, o.State, ""}
}

func (o *Options) checkDisk() Check {
	dir := o.State
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := freeBytes(dir)
	detail := fmt.Sprintf("%d MiB are free at %s", free>>20, dir)
	switch {
	case err != nil:
		return Check{"disk", Warn, fmt.Sprintf("could not determine the free space at %s: %v", dir, err), ""}
	case free < noSpace:
		return Check{"disk", Fail, detail, "free space on the disk: output of runs waits until then"}
	case free < lowSpace:
		return Check{"disk", Warn, detail, "free space on the disk: the spool may need 1 GiB"}
	}
	return Check{"disk", OK, detail, ""}
}

func (o *Options) checkSpool() Check {
	h := o.Spool()
	detail := fmt.Sprintf("%d of %d bytes are used", h.Used, h.Max)
	switch {
	case h.WriteErr != nil:
		return Check{"spool", Fail, h.WriteErr.Error(), "free space on the disk; waiting runs then continue by themselves"}
	case h.Full:
		return Check{"spool", Fail, "it is full: " + detail, "restore the connection to the server, or raise --spool-max"}
	case h.Used > h.Max/10*8:
		return Check{"spool", Warn, detail, "restore the connection to the server, or raise --spool-max"}
	}
	return Check{"spool", OK, detail, ""}
}

func (o *Options) checkLog() Check {
	if o.LogFile == "" {
		return Check{"log", OK, "hostd logs to its standard error", ""}
	}
	f, err := os.OpenFile(o.LogFile, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Check{"log", Warn, o.LogFile + " does not exist", "hostd creates it when it starts"}
	}
	if err != nil {
		return Check{"log", Fail, err.Error(), "name another file with --log"}
	}
	_ = f.Close() // ignore the error: nothing was written
	return Check{"log", OK, o.LogFile, ""}
}

// state is what a running hostd reports about itself.
type state struct {
	MachineID string `json:"host_id"`
	Server    string `json:"server"`
	Connected bool   `json:"connected"`
}

// checkHostd checks whether hostd answers on its socket, and returns its state. hostd is a process
// of its own or a part of the server.
func (o *Options) checkHostd(ctx context.Context) (c Check, running state) {
	if o.Link != nil {
		return Check{"hostd", OK, fmt.Sprintf("runs as process %d", os.Getpid()), ""}, running
	}
	client := http.Client{Timeout: probeTimeout, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", o.Socket)
	}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hostd/health", nil)
	if err != nil {
		panic("doctor: " + err.Error()) // cannot happen: the URL is constant
	}
	response, err := client.Do(request)
	if err != nil {
		return Check{"hostd", Warn, "does not run: nothing answers at " + o.Socket, "start it: concerto-relay hostd, concerto-relay hostd install, or concerto-relay serve --with-hostd"}, running
	}
	defer response.Body.Close()
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&running); err != nil {
		return Check{"hostd", Warn, fmt.Sprintf("%s answers without hostd's state: %v", o.Socket, err), "start hostd again"}, state{}
	}
	return Check{"hostd", OK, "answers at " + o.Socket, ""}, running
}

func (o *Options) checkID() Check {
	if o.MachineID != "" && !protocol.IsID(o.MachineID) {
		return Check{"host-id", Fail, fmt.Sprintf("%q is not a valid id", o.MachineID), "use 1 to 64 of A-Z a-z 0-9 _ -"}
	}
	return Check{"host-id", OK, o.MachineID, ""}
}

func (o *Options) checkToken() Check {
	if o.TokenFile == "" {
		if o.Token == "" {
			return Check{"token", Warn, "no token is set", "name a file with --token-file, or set HOST_TOKEN"}
		}
		return Check{"token", OK, "from HOST_TOKEN", ""}
	}
	info, err := os.Stat(o.TokenFile)
	if err != nil {
		return Check{"token", Fail, err.Error(), "name an existing file with --token-file"}
	}
	if _, err := link.TokenFile(o.TokenFile)(); err != nil {
		return Check{"token", Fail, err.Error(), "write the token into it"}
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return Check{"token", Fail, fmt.Sprintf("%s can be read by other users (%v)", o.TokenFile, info.Mode().Perm()), "chmod 600 " + o.TokenFile}
	}
	return Check{"token", OK, o.TokenFile, ""}
}

// checkServer checks whether the server is reachable, accepts this machine, and has the correct
// time.
func (o *Options) checkServer(ctx context.Context) []Check {
	if o.Server == "" {
		return []Check{{"server", Warn, "no server is set: runs are visible only on this machine", "set one with --server or SERVER_BASE_URL"}}
	}
	began := o.Now()
	at, err := o.requestHealth(ctx)
	if err != nil {
		return []Check{{"server", Fail, err.Error(), "check the URL, and that this machine can reach the server"}}
	}
	all := []Check{{"server", OK, o.Server, ""}}
	if o.Link != nil {
		if s := o.Link(); s.Connected {
			all = append(all, Check{"connection", OK, fmt.Sprintf("since %s, protocol %d", s.Since.UTC().Format(time.RFC3339), s.Protocol), ""})
		} else {
			all = append(all, Check{"connection", Fail, fmt.Sprint(s.Err), "events stay in the spool until hostd connects"})
		}
	}
	if at.IsZero() {
		return append(all, Check{"clock", Warn, "the server's response has no time", ""})
	}
	if skew := at.Sub(began); skew.Abs() > maxSkew {
		return append(all, Check{"clock", Warn, fmt.Sprintf("the server's clock is ahead by %v", skew.Round(time.Second)), "set this machine's clock, or the server's: displayed times are wrong"})
	}
	return append(all, Check{"clock", OK, "is the server's", ""})
}

// requestHealth requests the health of the server and returns the server's time.
func (o *Options) requestHealth(ctx context.Context) (at time.Time, err error) {
	u, err := url.Parse(o.Server)
	if err != nil {
		return at, err
	}
	schemes := map[string]string{"ws": "http", "wss": "https", "http": "http", "https": "https"}
	if u.Scheme = schemes[strings.ToLower(u.Scheme)]; u.Scheme == "" || u.Host == "" {
		return at, fmt.Errorf("%q is not an http, https, ws or wss URL", o.Server)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("health").String(), nil)
	if err != nil {
		return at, err
	}
	response, err := o.HTTP.Do(request)
	if err != nil {
		return at, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // read the body so that the connection can be reused
	if response.StatusCode != http.StatusOK {
		return at, fmt.Errorf("%s answered %s", u.JoinPath("health"), response.Status)
	}
	at, _ = http.ParseTime(response.Header.Get("Date")) // zero if the header is missing
	return at, nil
}

// Deps converts results to the form in rpc.host.doctor. In that form most warnings count as ok.
func Deps(all []Check) []protocol.Dep {
	var out []protocol.Dep
	for _, c := range all {
		detail := c.Detail
		if c.Do != "" {
			detail += "; " + c.Do
		}
		out = append(out, protocol.Dep{Name: c.Name, OK: c.Status == OK || c.Status == Warn && !isProgram(c.Name), Detail: detail})
	}
	return out
}

// isProgram reports whether a check is about an installed program.
func isProgram(name string) bool {
	for _, p := range requiredPrograms {
		if p.name == name {
			return true
		}
	}
	return false
}

// Write writes a line for each result. It reports whether a check has failed.
func Write(w io.Writer, all []Check) (failed bool, err error) {
	for _, c := range all {
		text := fmt.Sprintf("%-4s  %-10s  %s", c.Status, c.Name, c.Detail)
		if c.Do != "" {
			text += ": " + c.Do
		}
		if _, err := fmt.Fprintln(w, strings.ReplaceAll(text, "\n", " ")); err != nil {
			return failed, err
		}
		failed = failed || c.Status == Fail
	}
	return failed, nil
}
