package main

import (
	"path/filepath"

	"github.com/spf13/pflag"
)

// hostdSettings are what hostd is told, and what others must know to find it.
type hostdSettings struct {
	server, hostID, tokenFile string
	state, spool, socket, log string
	roots                     []string
	remoteExec, spoolMax      string
	approvalTimeout           int
}

// whereFlagsOfHostd adds the flags that say where hostd keeps its things, and to whom it talks.
func (a *app) whereFlagsOfHostd(f *pflag.FlagSet, s *hostdSettings) {
	f.StringVar(&s.server, "server", "", "the server, as a `URL` of http, https, ws or wss")
	fromEnv(f, "server", "SERVER_BASE_URL")
	f.StringVar(&s.hostID, "host-id", "", "the `ID` of this machine at the server")
	fromEnv(f, "host-id", "HOST_ID")
	f.StringVar(&s.tokenFile, "token-file", "", "the host's token is the first line of this `FILE`; else it is in $HOST_TOKEN")
	f.StringVar(&s.state, "state", filepath.Join(a.under("XDG_STATE_HOME", ".local", "state"), "concerto", "hostd"), "hostd's things are in this `DIR`")
	f.StringVar(&s.spool, "spool", "", "what the server does not have yet is in this `FILE`; else spool.db of the state")
	fromEnv(f, "spool", "SPOOL_DB_PATH")
	f.StringVar(&s.socket, "socket", "", "programs of this machine find hostd at this `PATH`; else concerto/hostd.sock of $XDG_RUNTIME_DIR, or of the user's state")
	fromEnv(f, "socket", "LOCAL_UNIX_SOCKET")
	f.StringVar(&s.log, "log", "", "log into this `FILE`, at its end; else to the standard error")
	fromEnv(f, "log", "HOSTD_LOG_PATH")
}

// paths are hostd's settings that are files or directories.
var paths = []string{"token-file", "state", "spool", "socket", "log", "root", "ready-file"}

// hostdFlags adds all flags of hostd.
func (a *app) hostdFlags(f *pflag.FlagSet, s *hostdSettings) {
	a.whereFlagsOfHostd(f, s)
	f.StringSliceVar(&s.roots, "root", nil, "runs may be started in this `DIR` and below; repeated for more; else the home directory")
	f.StringVar(&s.remoteExec, "remote-exec", "on", "whether apps may start runs, write files and run commands: `on|off`")
	f.StringVar(&s.spoolMax, "spool-max", "1GiB", "how much is kept for a server that is away, as a `SIZE`")
	f.IntVar(&s.approvalTimeout, "approval-timeout", 600, "how long what needs an approval waits for it, in `SECONDS`")
}

// complete makes paths absolute and gives those their places that were not named.
func (s *hostdSettings) complete(a *app) {
	for _, path := range []*string{&s.tokenFile, &s.state, &s.spool, &s.socket, &s.log} {
		if *path != "" {
			*path = a.abs(*path)
		}
	}
	if s.spool == "" {
		s.spool = filepath.Join(s.state, "spool.db")
	}
	if s.socket == "" {
		s.socket = a.hostdSocket()
	}
}

// hostdSocket is where hostd is found when nothing else is said.
func (a *app) hostdSocket() string {
	if dir := a.env("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "concerto", "hostd.sock")
	}
	return filepath.Join(a.under("XDG_STATE_HOME", ".local", "state"), "concerto", "hostd.sock")
}
