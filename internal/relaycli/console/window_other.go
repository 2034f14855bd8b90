//go:build !unix

package console

import "os"

var windowChanged os.Signal
