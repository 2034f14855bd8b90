package journal

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestOwner checks that HasExited detects that the owner's process has exited, on this machine
// since its boot, and that the running times of all processes are added.
func TestOwner(t *testing.T) {
	exited := exec.Command(os.Args[0], "-test.run=^$")
	if err := exited.Run(); err != nil {
		t.Fatal(err)
	}
	here := Here()
	dead := fmt.Sprintf(byProcess, exited.Process.Pid)
	for _, x := range []struct {
		Owner
		want bool
	}{
		{Owner{1, dead, here.Machine, here.Boot, here.PIDNS}, true},
		{here.Numbered(1), false},
		{Owner{1, dead, here.Machine, "another", here.PIDNS}, false},
		{Owner{1, dead, here.Machine, here.Boot, "pid:[1]"}, false},
		{Owner{1, "fork of r_1", here.Machine, here.Boot, here.PIDNS}, false},
		{Owner{}, false},
	} {
		if got := x.HasExited(); got != x.want {
			t.Errorf("%+v: %v", x.Owner, got)
		}
	}
	h := &History{Records: []*Record{{K: KStart, T: 1000, Owner: Owner{N: 1}}, {K: KBegin, T: 1700}, {K: KResume, T: 9000, Owner: Owner{N: 2}}, {K: KPark, T: 9250}, {K: KResume, T: 20000, Owner: Owner{N: 3}}}}
	for _, r := range h.Records {
		h.ran.add(r)
	}
	if got := h.Ran(); got != 950*time.Millisecond {
		t.Errorf("it was run for %v", got)
	}
	if h.Owner().N != 3 {
		t.Errorf("it is owned by %+v", h.Owner())
	}
}
