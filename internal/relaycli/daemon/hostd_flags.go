package daemon

import (
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/hostd"
)

// HostdSettings holds hostd's settings. Other commands use some of them to find hostd and its
// files.
type HostdSettings struct {
	Server, machineID, tokenFile string
	PageCert                     string // the certificate of the page that hostd serves; "" means it serves none
	state, spool, socket, log    string
	roots                        []string
	remoteExec, spoolMax         string
	approvalTimeout              int
	sealed, engine               string
	pageKey, pageListen          string
}

// hostdPathFlags adds the flags for the server and for hostd's files.
func hostdPathFlags(a *console.Console, f *pflag.FlagSet, s *HostdSettings) {
	machineFlags(a, f, s)
	f.StringVar(&s.spool, "spool", "", "store unsent events in `FILE` (default: in --state)")
	console.FromEnv(f, "spool", "SPOOL_DB_PATH")
	f.StringVar(&s.log, "log", "", "append the log to `FILE` (default: standard error)")
	console.FromEnv(f, "log", "HOSTD_LOG_PATH")
}

// ServerFlags adds the flags of commands that only need the server of this machine. They have the
// values of hostd's settings.
func ServerFlags(a *console.Console, f *pflag.FlagSet, s *HostdSettings) {
	f.StringVar(&s.Server, "server", "", "use the server at `URL` (default: that of this machine)")
	console.FromEnv(f, "server", "SERVER_BASE_URL")
	f.StringVar(&s.state, "state", console.DefaultState(a), "find the files of hostd in `DIR` (default: ~/.local/state/concerto/hostd)")
	f.VisitAll(func(one *pflag.Flag) { console.FromTable(f, one.Name, "hostd") })
}

// machineFlags adds the flags for the server, for the state and for the socket.
func machineFlags(a *console.Console, f *pflag.FlagSet, s *HostdSettings) {
	f.StringVar(&s.Server, "server", "", "connect to the server at `URL`")
	console.FromEnv(f, "server", "SERVER_BASE_URL")
	f.StringVar(&s.machineID, "host-id", "", "identify this machine at the server by `ID`")
	console.FromEnv(f, "host-id", "HOST_ID")
	f.StringVar(&s.tokenFile, "token-file", "", "read the machine's token from `FILE`, else from $HOST_TOKEN")
	f.StringVar(&s.state, "state", console.DefaultState(a), "store the state in `DIR` (default: ~/.local/state/concerto/hostd)")
	f.StringVar(&s.socket, "socket", "", "listen at `PATH` (default: in $XDG_RUNTIME_DIR)")
	console.FromEnv(f, "socket", "LOCAL_UNIX_SOCKET")
}

// paths lists the flags of hostd whose values are files or directories.
var paths = []string{"token-file", "state", "spool", "socket", "log", "root", "ready-file", "page-cert", "page-key"}

// HostdFlags adds all flags of hostd.
func HostdFlags(a *console.Console, f *pflag.FlagSet, s *HostdSettings) {
	hostdPathFlags(a, f, s)
	f.StringSliceVar(&s.roots, "root", nil, "allow runs in `DIR` and below; repeatable (default: $HOME)")
	f.StringVar(&s.remoteExec, "remote-exec", "on", "let apps start runs, write files and run commands (default on): `on|off`")
	f.StringVar(&s.spoolMax, "spool-max", "1GiB", "limit the spool to `SIZE` (default 1GiB)")
	f.StringVar(&s.sealed, "sealed", hostd.SealedAuto, "seal new runs: `MODE` auto, off or required (default auto)")
	f.StringVar(&s.engine, "engine", "", "also show the runs of the engine at `URL`: postgres://USER@HOST/NAME")
	pageCertFlags(f, s)
	f.IntVar(&s.approvalTimeout, "approval-timeout", 600, "wait `SECONDS` for an approval (default 600)")
}

// Complete makes all paths absolute, and sets the default paths of files that were not named.
func (s *HostdSettings) Complete(a *console.Console) {
	for _, path := range []*string{&s.tokenFile, &s.state, &s.spool, &s.socket, &s.log, &s.PageCert, &s.pageKey} {
		if *path != "" {
			*path = a.Abs(*path)
		}
	}
	if s.spool == "" {
		s.spool = filepath.Join(s.state, "spool.db")
	}
	if s.socket == "" {
		s.socket = connect.HostdSocket(a)
	}
}
