//go:build unix

package pgserver

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Unprivileged returns attributes to run a program as another user, who then owns dir. It is needed
// because PostgreSQL refuses to run as root.
func Unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		if errUID != nil || errGID != nil {
			continue
		}
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, ErrNoUser
}
