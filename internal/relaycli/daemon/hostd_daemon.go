package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/hostd"
	"github.com/concerto-lang/concerto/relay/hostd/redact"
	"github.com/concerto-lang/concerto/relay/hostlog"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// runHostd runs the daemon until it receives a signal. ready is the path of the ready file, or "".
func runHostd(a *console.Console, h *HostdSettings, ready string) error {
	h.Complete(a)
	o, err := HostdOptions(a, h)
	if err != nil {
		return err
	}
	ctx, stop := a.SignalContext()
	defer stop()
	closeLog, err := HostdLog(a, h, o)
	if err != nil {
		return err
	}
	defer closeLog()
	servePage, err := openPage(ctx, a, h, o.Log)
	if err != nil {
		return err
	}
	d, err := OpenHostd(ctx, h, o)
	if err != nil {
		return err
	}
	defer d.Close()
	o.Log.Info("hostd serves", "machine", d.MachineID(), "socket", d.Socket(), "server", o.Server)
	if err := a.WriteReadyFile(ready, d.Socket()); err != nil {
		return err
	}
	go servePage(ctx) // ends with ctx, as watchPage does
	go watchPage(ctx, a, h, o.Log)
	return d.Run(ctx)
}

// OpenHostd opens hostd, after it has connected to the engine of its settings.
func OpenHostd(ctx context.Context, h *HostdSettings, o *hostd.Options) (d *hostd.Daemon, err error) {
	if h.engine != "" {
		if o.Engine, o.EngineID, err = connect.Engine(ctx, h.engine); err != nil {
			return nil, err
		}
	}
	if d, err = hostd.Open(ctx, *o); err != nil {
		return nil, console.Usage("", "could not start hostd: %v", err)
	}
	return d, nil
}

// HostdOptions validates hostd's settings and returns them as options. The error describes the
// first invalid setting.
func HostdOptions(a *console.Console, h *HostdSettings) (*hostd.Options, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	o := &hostd.Options{Server: h.Server, MachineID: h.machineID, State: h.state, Spool: h.spool, Socket: h.socket, Redact: a.Env("REDACTION_EXTRA_REGEX"), Token: a.Env("HOST_TOKEN"),
		ApprovalTimeout: time.Duration(h.approvalTimeout) * time.Second, RemoteExec: h.remoteExec == "on", Sealed: h.sealed, Holder: []string{exe, "shim"}, Environ: a.Environ, Version: a.Release}
	if err := a.OneOf("remote-exec", h.remoteExec, "on", "off"); err != nil {
		return nil, err
	}
	if err := a.OneOf("sealed", h.sealed, hostd.SealedAuto, hostd.SealedOff, hostd.SealedRequired); err != nil {
		return nil, err
	}
	if o.SpoolMax, err = sizeOf(h.spoolMax); err != nil {
		return nil, a.InvalidSetting("spool-max", "for example 1GiB, 200MiB or 50000000", "%v", err)
	}
	if err := checkServerURL(a, h.Server); err != nil {
		return nil, err
	}
	if h.machineID != "" && !protocol.IsID(h.machineID) {
		return nil, a.InvalidSetting("host-id", "", "%q is not a valid id: use 1 to 64 of A-Z a-z 0-9 _ -", h.machineID)
	}
	if h.approvalTimeout < 1 {
		return nil, a.InvalidSetting("approval-timeout", "", "it must be at least 1 second")
	}
	if err := hostdFiles(a, h, o); err != nil {
		return nil, err
	}
	return o, nil
}

// checkServerURL returns an error if server is neither "" nor the URL of a server.
func checkServerURL(a *console.Console, server string) error {
	u, err := url.Parse(server)
	if server != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ws" && u.Scheme != "wss") {
		return a.InvalidSetting("server", "for example https://relay.example.com", "it is not an http, https, ws or wss URL")
	}
	return nil
}

// hostdFiles reads the settings that are stored in files, and adds them and the roots to the
// options.
func hostdFiles(a *console.Console, h *HostdSettings, o *hostd.Options) error {
	if h.tokenFile != "" {
		text, err := userfile.ReadStream(h.tokenFile, userfile.MaxSecret)
		if err != nil {
			return a.InvalidSetting("token-file", "", "%v", err)
		}
		if o.Token = strings.TrimSpace(string(text)); o.Token == "" {
			return a.InvalidSetting("token-file", "put the machine's token into it", "%s is empty", h.tokenFile)
		}
	}
	if o.Prompts = filepath.Join(a.XDGDir("XDG_CONFIG_HOME", ".config"), "concerto", "prompts.toml"); !exists(o.Prompts) {
		o.Prompts = ""
	}
	if len(h.roots) == 0 {
		h.roots = []string{a.Env("HOME")}
	}
	for _, root := range h.roots {
		if root == "" {
			return a.InvalidSetting("root", "add --root DIR", "there is no home directory")
		}
		if info, err := os.Stat(a.Abs(root)); err != nil || !info.IsDir() {
			return a.InvalidSetting("root", "name an existing directory", "%s is not a directory", root)
		}
		o.Roots = append(o.Roots, a.Abs(root))
	}
	if _, err := redact.New(o.Redact, nil); err != nil {
		return console.Usage("use the syntax of Go's package regexp", "$%v", err)
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// HostdLog opens hostd's log, which replaces secrets, and returns the function that closes it.
func HostdLog(a *console.Console, h *HostdSettings, o *hostd.Options) (func(), error) {
	r, err := redact.New(o.Redact, o.Environ)
	if err != nil {
		return nil, err
	}
	if h.log == "" {
		o.Log = hostlog.New(a.Stderr, r.Text)
		return func() {}, nil
	}
	log, file, err := hostlog.Open(h.log, r.Text)
	if err != nil {
		return nil, a.InvalidSetting("log", "name a file that this user may write to", "%v", err)
	}
	o.Log, o.LogPath = log, h.log
	return func() { file.Close() }, nil
}

var size = regexp.MustCompile(`^(\d+) ?(|B|KiB|MiB|GiB|TiB|KB|MB|GB|K|M|G)$`)

// sizeOf parses a size such as the value of --spool-max, and returns the number of bytes.
func sizeOf(text string) (int64, error) {
	m := size.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "KB": 1e3, "MB": 1e6, "GB": 1e9, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[m[2]]
	if err == nil && (n < 1 || n > 1<<60/unit) {
		err = errors.New("it is too small or too large")
	}
	return n * unit, err
}
