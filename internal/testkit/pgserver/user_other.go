//go:build !unix

package pgserver

import "syscall"

// Unprivileged returns nil: PostgreSQL runs as the current user.
func Unprivileged(string) (*syscall.SysProcAttr, error) { return nil, nil }
