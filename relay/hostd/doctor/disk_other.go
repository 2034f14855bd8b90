//go:build !(linux || darwin)

package doctor

import (
	"errors"
	"runtime"
)

func freeBytes(string) (int64, error) { return 0, errors.New("not known on " + runtime.GOOS) }
