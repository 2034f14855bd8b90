package journal

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestOwner checks HasExited. It returns true only for a process id that no longer exists, if the
// process ran on this machine, in this boot and in this PID namespace. The test also checks that
// Ran adds up the times of all processes.
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
			t.Errorf("%+v: HasExited = %v", x.Owner, got)
		}
	}
	h := &History{Records: []*Record{{K: KStart, T: 1000, Owner: Owner{N: 1}}, {K: KBegin, T: 1700}, {K: KResume, T: 9000, Owner: Owner{N: 2}}, {K: KPark, T: 9250}, {K: KResume, T: 20000, Owner: Owner{N: 3}}}}
	for _, r := range h.Records {
		h.ran.add(r)
	}
	if got := h.Ran(); got != 950*time.Millisecond {
		t.Errorf("Ran() = %v, want the sum over all processes", got)
	}
	if h.Owner().N != 3 {
		t.Errorf("Owner() = %+v, want the last owner", h.Owner())
	}
}
