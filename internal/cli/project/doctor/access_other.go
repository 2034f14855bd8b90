//go:build !unix

package doctor

import "os"

// isWritable reports whether a directory exists. Its access control list is not read.
func isWritable(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}
