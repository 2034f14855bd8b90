package confine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// report is the socket over which a starting process sends the listener of its proxy, and an error
// message if it could not confine itself. It ends when the process executes its command.
type report struct{ ours, theirs *os.File }

func newReport() (*report, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	return &report{os.NewFile(uintptr(fds[0]), "report"), os.NewFile(uintptr(fds[1]), "report")}, nil
}

func (x *report) closeTheirs() { x.theirs.Close() }

func (x *report) close() {
	x.ours.Close()
	x.theirs.Close()
}

// read waits until the process executes its command or has failed.
func (x *report) read() (listener *os.File, problem string, err error) {
	text, rights := make([]byte, 4<<10), make([]byte, unix.CmsgSpace(4))
	fail := func(err error) (*os.File, string, error) {
		if listener != nil {
			listener.Close()
		}
		return nil, "", os.NewSyscallError("recvmsg", err)
	}
	for {
		n, m, _, _, err := unix.Recvmsg(int(x.ours.Fd()), text, rights, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fail(err)
		case n == 0 && m == 0:
			return listener, problem, nil
		case m == 0:
			problem = string(text[:n])
		}
		if m == 0 {
			continue
		}
		messages, err := unix.ParseSocketControlMessage(rights[:m])
		if err != nil {
			return fail(err)
		}
		for i := range messages {
			fds, err := unix.ParseUnixRights(&messages[i])
			if err != nil {
				return fail(err)
			}
			for _, fd := range fds {
				listener = os.NewFile(uintptr(fd), "proxy")
			}
		}
	}
}
