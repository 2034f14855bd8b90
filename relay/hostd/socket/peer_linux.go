package socket

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/proc"
	"github.com/concerto-lang/concerto/relay/ancestry"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// peer identifies the calling process by its process id and start time, because the process id may
// be reused before the request is handled.
type peer struct {
	pid        int
	began      int64
	uid        uint32
	identified bool
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
	p := peer{pid: int(cred.Pid), uid: cred.Uid, identified: true}
	if s := proc.Read(p.pid); s != nil {
		p.began = s.StartTime
	}
	return p
}

// process returns the process for the record of a decision. If it is unknown, it is hostd's.
func (p peer) process() approvals.Process {
	if !p.identified {
		return ownProcess()
	}
	return approvals.Process{UID: int64(p.uid), PID: int64(p.pid)}
}

// isAllowed reports whether the peer runs as this user or as root.
func (p peer) isAllowed() bool { return p.identified && (p.uid == uint32(os.Getuid()) || p.uid == 0) }

// membershipReason returns why the peer belongs to a run, or "" if it does not. leader is the
// process id of the run. keeper is the process id of its PTY holder, which adopts orphaned
// processes. Either is 0 if there is none. The peer belongs to the run if it or one of its
// ancestors is one of these processes, is in the leader's session, or has the run's id in its
// environment.
func (p peer) membershipReason(run string, leader, keeper int) string {
	line, ok := p.ancestors(ancestry.Look)
	for _, one := range line {
		switch {
		case leader != 0 && (one.PID == leader || one.Session == leader), keeper != 0 && one.PID == keeper:
			return fmt.Sprintf("process %d is the run's", p.pid)
		case runInEnviron(one.PID) == run:
			return fmt.Sprintf("process %d has the run's mark", one.PID)
		}
	}
	if !ok {
		return "the caller's process cannot be identified"
	}
	return ""
}

// findRuns returns the runs that the peer belongs to, the nearest first. It compares the peer's
// ancestors with the processes of the live runs, and reads their environments.
func (p peer) findRuns(live []runProcess) []string {
	line, _ := p.ancestors(ancestry.Look)
	var all []string
	for _, one := range line {
		for _, r := range live {
			if r.leader != 0 && (one.PID == r.leader || one.Session == r.leader) || r.holder != 0 && one.PID == r.holder {
				all = append(all, r.run)
			}
		}
		if mark := runInEnviron(one.PID); mark != "" {
			all = append(all, mark)
		}
	}
	return all
}

// ancestors returns the peer and its ancestors. ok reports whether the chain is complete.
func (p peer) ancestors(read func(pid int) *proc.Stat) (line []ancestry.Step, ok bool) {
	if !p.identified {
		return nil, false
	}
	line, ok = ancestry.Line(p.pid, read)
	if len(line) > 0 && line[0].StartTime != p.began {
		return nil, false // the process has exited, and its process id was reused
	}
	return line, ok
}

// runInEnviron returns the id of the run in the environment of a process.
func runInEnviron(pid int) string {
	for kv := range bytes.SplitSeq(proc.Environ(pid), []byte{0}) {
		if run, ok := bytes.CutPrefix(kv, []byte("RELAY_RUN_ID=")); ok && protocol.IsID(string(run)) {
			return string(run)
		}
	}
	return ""
}
