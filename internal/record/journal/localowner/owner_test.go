package localowner

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// TestHasExited checks that HasExited returns true only for a process id that no longer exists, if
// the process ran on this machine, in this boot and in this PID namespace.
func TestHasExited(t *testing.T) {
	exited := exec.Command(os.Args[0], "-test.run=^$")
	if err := exited.Run(); err != nil {
		t.Fatal(err)
	}
	here := Here()
	dead := fmt.Sprintf(byProcess, exited.Process.Pid)
	for _, x := range []struct {
		owner journal.Owner
		want  bool
	}{
		{journal.Owner{N: 1, By: dead, Machine: here.Machine, Boot: here.Boot, PIDNS: here.PIDNS}, true},
		{here.Numbered(1), false},
		{journal.Owner{N: 1, By: dead, Machine: here.Machine, Boot: "another", PIDNS: here.PIDNS}, false},
		{journal.Owner{N: 1, By: dead, Machine: here.Machine, Boot: here.Boot, PIDNS: "pid:[1]"}, false},
		{journal.Owner{N: 1, By: "fork of r_1", Machine: here.Machine, Boot: here.Boot, PIDNS: here.PIDNS}, false},
		{journal.Owner{}, false},
	} {
		if got := HasExited(x.owner); got != x.want {
			t.Errorf("%+v: HasExited = %v", x.owner, got)
		}
	}
}
