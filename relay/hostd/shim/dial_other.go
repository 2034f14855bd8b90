//go:build !linux

package shim

import (
	"net"
	"path/filepath"
)

func dial(dir string) (net.Conn, error) { return net.Dial("unix", filepath.Join(dir, socketFile)) }
