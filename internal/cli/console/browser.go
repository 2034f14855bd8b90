package console

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// OpenInBrowser opens a file or an address in a browser. If that is impossible, it prints a warning
// with the target.
func (a *Console) OpenInBrowser(ctx context.Context, target string) {
	var names []string
	for _, v := range a.Environ {
		if browsers, ok := strings.CutPrefix(v, "BROWSER="); ok && browsers != "" {
			names = strings.Split(browsers, ":")
		}
	}
	for _, name := range append(names, "xdg-open", "open") {
		c := exec.Command(name, target) // continues after this command
		c.Env, _ = procgroup.Inherit{Pass: desktop}.Of(a.Environ)
		if c.Start() != nil {
			continue
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case err := <-ended:
			if err == nil {
				return
			}
		case <-time.After(startsWithin):
			return
		case <-ctx.Done():
			return
		}
	}
	a.Complain("warning: no browser could be started; open "+target, "")
}

// desktop lists the variables with which a program finds the desktop of the user.
var desktop = []string{"BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION", "WSL_*"}

// startsWithin is the time after which a program that has not failed has opened its target.
const startsWithin = 5 * time.Second
