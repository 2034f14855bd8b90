//go:build !linux

package socket

import (
	"net"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
)

// peer contains no process id on this system. The mode of the socket limits connections to this
// user.
type peer struct{ pid int }

type peerKey struct{}

func peerOf(net.Conn) peer { return peer{} }

// process returns the process for the record of a decision. This system does not report the
// caller's, so it is hostd's.
func (peer) process() approvals.Process { return ownProcess() }

func (peer) isAllowed() bool { return true }

func (peer) membershipReason(string, int, int) string { return "" }

func (peer) findRuns([]runProcess) []string { return nil }
