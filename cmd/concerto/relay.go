package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto"
	"github.com/concerto-lang/concerto/internal/relay"
	"github.com/concerto-lang/concerto/internal/secret"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// The variables by which a run is told of hostd.
const (
	relaySocket = "CONCERTO_RELAY_SOCK" // hostd's socket; runs are told of there
	hostdSocket = "RELAY_HOSTD_SOCK"    // the same, for what hostd has started
	relayParent = "RELAY_RUN_ID"        // the run of which this process is a part
)

// anySocket is the value of --relay without one.
const anySocket = "auto"

const relayUsage = "tell the relay's hostd on this machine, at `SOCKET`, what the run does, and let people there answer"

// relayFlag adds --relay.
func relayFlag(c *cobra.Command, socket *string) {
	c.Flags().StringVar(socket, "relay", "", relayUsage)
	c.Flags().Lookup("relay").NoOptDefVal = anySocket
}

// lookup is a variable of the environment; "" without it.
func (a *app) lookup(name string) string {
	for i := len(a.environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(a.environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// relayed begins to tell the relay of this process, when it is to be told: by the flag, the
// manifest, or the environment. It is told of once, however often a program runs in it.
func (a *app) relayed(p *concerto.Program, flag string, o *concerto.Options) {
	share, title := p.Sharing()
	if a.told == nil && (flag != "" || share || a.lookup(relaySocket) != "") {
		a.told = a.relaySource(flag, title)
	}
	if a.told != nil {
		o.Answers.Relay = a.told
	}
}

// relaySource begins to tell hostd of this process.
func (a *app) relaySource(flag, title string) *relay.Source {
	socket := ""
	if flag != anySocket {
		socket = flag
	}
	for _, name := range []string{relaySocket, hostdSocket} {
		if socket == "" {
			socket = a.lookup(name)
		}
	}
	if socket == "" {
		socket = protocol.HostdSocket(a.lookup)
	}
	dir := a.dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	told := relay.New(relay.Options{Socket: a.abs(socket), Started: protocol.Started{
		Tool: "concerto", Cwd: dir, Command: redacted(strings.Join(append([]string{"concerto"}, os.Args[1:]...), " ")), Title: title, Source: "concerto", ParentRunID: a.lookup(relayParent),
	}})
	if err := told.Absent(); err != nil && !a.quiet {
		a.complain(fmt.Sprintf("no hostd at %s (%v): the run goes on without it, and is told of when one is there", a.abs(socket), err), "")
	}
	return told
}

// redacted is a command line without what looks like a secret.
func redacted(line string) string {
	var b strings.Builder
	at := 0
	for _, t := range secret.Tokens(line) {
		b.WriteString(line[at:t[0]] + protocol.Redacted)
		at = t[1]
	}
	return b.String() + line[at:]
}

// telling is a stream of the command's of which the relay is told.
type telling struct {
	io.Writer
	to     *relay.Source
	stream string
}

func (t telling) Write(b []byte) (int, error) {
	t.to.Wrote(t.stream, string(b))
	return t.Writer.Write(b)
}

// drawingTold is drawing, of which the relay hears what the command writes to stderr, also
// behind end.
func (a *app) drawingTold() func() {
	if a.told == nil {
		return a.drawing()
	}
	if t, again := a.stderr.(telling); again {
		a.stderr = t.Writer
	}
	end := a.drawing()
	tell := func() {
		if _, already := a.stderr.(telling); !already {
			a.stderr = telling{a.stderr, a.told, "stderr"}
		}
	}
	tell()
	return func() {
		end()
		tell()
	}
}
