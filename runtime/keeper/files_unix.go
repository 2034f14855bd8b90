//go:build unix

package keeper

import (
	"net"
	"os"
	"syscall"
)

// sendFiles writes text together with descriptors.
func sendFiles(conn *net.UnixConn, text []byte, fds ...int) error {
	_, _, err := conn.WriteMsgUnix(text, syscall.UnixRights(fds...), nil)
	return err
}

// readByte reads one byte, and the files that were sent with it.
func readByte(conn *net.UnixConn) (b byte, files []*os.File, err error) {
	var text [1]byte
	control := make([]byte, syscall.CmsgSpace(loanFiles*4)) // a descriptor has 4 bytes
	n, size, _, _, err := conn.ReadMsgUnix(text[:], control)
	if err != nil || n == 0 {
		return 0, nil, errEnded(err)
	}
	all, err := syscall.ParseSocketControlMessage(control[:size])
	if err != nil {
		return 0, nil, err
	}
	for _, m := range all {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return 0, nil, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "|0"))
		}
	}
	return text[0], files, nil
}
