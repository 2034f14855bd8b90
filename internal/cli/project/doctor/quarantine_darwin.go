package doctor

import "golang.org/x/sys/unix"

// isQuarantined reports whether macOS has marked a file as a download that was not allowed yet.
func isQuarantined(path string) bool {
	n, err := unix.Getxattr(path, "com.apple.quarantine", nil)
	return err == nil && n > 0
}
