package socket

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// peer is who connected.
type peer struct {
	pid   int
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
	return peer{int(cred.Pid), cred.Uid, true}
}

// ours says whether the peer is of this user, or the machine's administrator.
func (p peer) ours() bool { return p.known && (p.uid == uint32(os.Getuid()) || p.uid == 0) }

// within says why the peer belongs to a run; "" when it does not. leader is the run's process,
// keeper its shim, which adopts what it leaves behind; 0 when it has none. The peer belongs to it by
// its parents, up to the shim, by its session, and by the run's mark in its, or a parent's, environment.
func (p peer) within(run string, leader, keeper int) string {
	if !p.known {
		return "nobody can see who asks"
	}
	for pid, depth := p.pid, 0; pid > 1 && depth < 1000; depth++ {
		s, ok := statOf(pid)
		switch {
		case !ok && pid == p.pid:
			return "nobody can see who asks"
		case !ok:
			return ""
		case leader != 0 && (pid == leader || s.session == leader), keeper != 0 && pid == keeper:
			return fmt.Sprintf("process %d is the run's", p.pid)
		case markOf(pid) == run:
			return fmt.Sprintf("process %d has the run's mark", pid)
		}
		pid = s.parent
	}
	return ""
}

// run is the run that the peer belongs to; "" for none.
func (p peer) run() string {
	for pid, depth := p.pid, 0; p.known && pid > 1 && depth < 1000; depth++ {
		if mark := markOf(pid); mark != "" {
			return mark
		}
		s, ok := statOf(pid)
		if !ok {
			return ""
		}
		pid = s.parent
	}
	return ""
}

type stat struct{ parent, session int }

func statOf(pid int) (stat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	// The name, which may hold anything, ends with the last parenthesis; then state, parent, group, session.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 4 {
		return stat{}, false
	}
	parent, err1 := strconv.Atoi(f[1])
	session, err2 := strconv.Atoi(f[3])
	return stat{parent, session}, err1 == nil && err2 == nil
}

// markOf is the run in a process's environment.
func markOf(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(text, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte("RELAY_RUN_ID=")); ok {
			return string(v)
		}
	}
	return ""
}
