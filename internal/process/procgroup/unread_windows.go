package procgroup

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// InPipe returns the number of bytes in a pipe, given its read end, or -1 if the number is unknown
// or no process can write to the pipe any more.
func InPipe(f *os.File) int {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1
	}
	n := -1
	err = raw.Control(func(fd uintptr) {
		var available uint32
		if ok, _, _ := peekNamedPipe.Call(fd, 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0); ok != 0 {
			n = int(available)
		}
	})
	if err != nil {
		return -1
	}
	return n
}
