//go:build !unix

package ptyholder

import "os/exec"

func ownSession(*exec.Cmd) {}
