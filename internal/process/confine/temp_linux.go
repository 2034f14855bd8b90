package confine

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// ownerName returns the part of a directory's name that identifies a process.
func ownerName(pid int) string {
	var start int64
	if s := proc.Read(pid); s != nil {
		start = s.StartTime
	}
	return fmt.Sprintf("%d-%d", pid, start)
}
