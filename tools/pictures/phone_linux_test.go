package pictures

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/tools/browser"
)

// photograph runs the example with a relay, opens the relay's page on an emulated phone and returns
// a PNG of the approval.
func photograph(t *testing.T) []byte {
	t.Helper()
	browser.Need(t)
	concerto, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	relay, err := testproc.Relay()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "relay") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=",
		"CONCERTO_RELAY_SOCK=", "RELAY_HOSTD_SOCK=", "LOCAL_UNIX_SOCKET=")

	// the page shows the host name of the machine, so the server runs with a fixed one
	server := exec.Command("unshare", "--uts", "--map-root-user", "sh", "-c", "hostname desk && exec "+relay+
		" serve --listen 127.0.0.1:0 --db sqlite:relay.db --with-hostd")
	server.Dir, server.Env = home, env
	setup := start(t, server, "(it works once): ")
	b := browser.Open(t)
	b.Expect("401") // the page requests the current user before the login
	phone := browser.Phone
	phone.Height = 640
	b.Emulate(phone, browser.Light)
	b.Go(setup)
	b.Click("@login-user")
	b.Type("ann")
	b.Press("Tab")
	b.Type("correct horse battery")
	b.Press("Enter")
	b.Wait("document.querySelector('[data-testid=conn]').dataset.state === 'online'")

	run := exec.Command(concerto, "run", "--share")
	run.Dir, run.Env = filepath.Join(os.TempDir(), "invoice"), env // the page shows this path; the path must not exist
	if err := os.CopyFS(run.Dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run.Dir) })
	start(t, run, "3 of 3 tests pass")
	b.Eval("location.hash = '#/inbox'")
	b.See("git push origin fix-rounding")
	b.Wait("__see.all('@approve').length > 0 && __see.all('@approve').every((e) => e.ariaDisabled !== 'true')")
	return b.Screenshot("")
}

// start starts a command. It waits for the first line that contains text and returns the rest of
// that line after text. The command is stopped when the test ends.
func start(t *testing.T, c *exec.Cmd, text string) string {
	t.Helper()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait() // the error only reports the signal
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, rest, found := strings.Cut(lines.Text(), text); found {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return rest
		}
	}
	t.Fatalf("%v exits without printing %q", c.Args, text)
	return ""
}

// reportDesk is the window in which the report is shown: smaller than a desk, so that the picture
// is readable at the width of README.md.
func reportDesk() browser.Device {
	d := browser.Desk
	d.Width, d.Height = 1000, 530
	return d
}

// photographReport returns a PNG of the report of a run of the example, with one approval opened.
func photographReport(t *testing.T) []byte {
	t.Helper()
	browser.Need(t)
	concerto, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(concerto, "run", "--no-input", "--report", "report.html")
	run.Dir = copyExample(t)
	run.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b := browser.Open(t)
	b.Emulate(reportDesk(), browser.Light)
	b.Go("file://" + filepath.Join(run.Dir, "report.html"))
	b.Wait(`document.documentElement.dataset.ready === "1"`)
	b.Eval(`location.hash = "#item-" + [...document.querySelectorAll("#rows tbody tr")].map((r) => r.cells).find((c) => c[4].textContent.includes("git push")).item(0).textContent`)
	b.Wait(`document.querySelector("#detail pre")?.textContent.includes("git push")`)
	b.Eval(`scrollBy(0, document.getElementById("lanes").getBoundingClientRect().top - 56)`) // below the header
	return b.Screenshot("")
}
