package socket

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/concerto-lang/concerto/internal/proc"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// peer is who connected: a process, by its number and when it began, since a number may be another's
// by the time that it asks.
type peer struct {
	pid   int
	began int64
	uid   uint32
	known bool
}

type peerKey struct{}

func peerOf(c net.Conn) peer {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return peer{}
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return peer{}
	}
	var cred *syscall.Ucred
	cerr := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if cerr != nil || err != nil {
		return peer{}
	}
	p := peer{pid: int(cred.Pid), uid: cred.Uid, known: true}
	if s := proc.Read(p.pid); s != nil {
		p.began = s.Began
	}
	return p
}

// ours says whether the peer is of this user, or the machine's administrator.
func (p peer) ours() bool { return p.known && (p.uid == uint32(os.Getuid()) || p.uid == 0) }

// within says why the peer belongs to a run; "" when it does not. leader is the run's process,
// keeper its shim, which adopts what it leaves behind; 0 when it has none. The peer belongs to it by
// its parents, up to the shim, by its session, and by the run's mark in its, or a parent's, environment.
func (p peer) within(run string, leader, keeper int) string {
	line, ok := p.line(proc.Read)
	for _, one := range line {
		switch {
		case leader != 0 && (one.pid == leader || one.Session == leader), keeper != 0 && one.pid == keeper:
			return fmt.Sprintf("process %d is the run's", p.pid)
		case markOf(one.pid) == run:
			return fmt.Sprintf("process %d has the run's mark", one.pid)
		}
	}
	if !ok {
		return "nobody can see who asks"
	}
	return ""
}

// run is the run that the peer belongs to; "" for none.
func (p peer) run() string {
	line, _ := p.line(proc.Read)
	for _, one := range line {
		if mark := markOf(one.pid); mark != "" {
			return mark
		}
	}
	return ""
}

// step is a process of a line.
type step struct {
	pid int
	*proc.Stat
}

// Bounds of looking for the parents of a peer: who has more of them, or whose parents end as fast
// as they are looked at, hides.
const (
	mostParents = 1000
	mostLooks   = 100
)

// line is the peer and its parents behind it; ok says that it is whole. A parent that has ended
// meanwhile has left its child to another, so that all are looked at again.
func (p peer) line(read func(pid int) *proc.Stat) (line []step, ok bool) {
	for range mostLooks {
		line = line[:0]
		for pid := p.pid; pid > 1 && len(line) < mostParents; {
			s := read(pid)
			if pid == p.pid && (!p.known || s == nil || s.Began != p.began) {
				return nil, false // it is gone, and another may have its number
			}
			if s == nil {
				break
			}
			line = append(line, step{pid, s})
			pid = s.Parent
		}
		if n := len(line); n == 0 || n == mostParents {
			return line, n == 0 && p.known
		} else if line[n-1].Parent <= 1 {
			return line, true
		}
	}
	return line, false
}

// markOf is the run in a process's environment.
func markOf(pid int) string {
	for kv := range bytes.SplitSeq(proc.Environ(pid), []byte{0}) {
		if run, ok := bytes.CutPrefix(kv, []byte("RELAY_RUN_ID=")); ok && protocol.IsID(string(run)) {
			return string(run)
		}
	}
	return ""
}
