package install_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/hostd/install"
)

var ctx = context.Background()

// system records the system commands. Commands that begin with fails return an error.
type system struct {
	commands []string
	fails    string
}

func (s *system) run(_ context.Context, name string, args ...string) error {
	line := strings.Join(append([]string{name}, args...), " ")
	s.commands = append(s.commands, line)
	if s.fails != "" && strings.HasPrefix(line, s.fails) {
		return errors.New("no bus")
	}
	return nil
}

func options(t *testing.T, s *system, goos string) install.Options {
	return install.Options{Executable: "/opt/my tools/concerto-relay", Args: []string{"hostd", "--server", "https://x/?%41", "--root", `/a "b" $c`}, OS: goos, Root: t.TempDir(),
		Environ: []string{"HOME=/home/ann", "PATH=/usr/bin:/home/ann/100%", "SUDO_USER=ann"}, Run: s.run}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSystemd checks the unit file. systemd must restart hostd without stopping its runs, and must
// be notified of the unit. If a system command fails, the result lists the commands to run. The
// unit can be removed.
func TestSystemd(t *testing.T) {
	s := &system{}
	o := options(t, s, "linux")
	r, err := install.Install(ctx, o)
	if err != nil || r.Err != nil || r.File != filepath.Join(o.Root, "/home/ann/.config/systemd/user/concerto-hostd.service") {
		t.Fatalf("install = %+v, error = %v", r, err)
	}
	text := read(t, r.File)
	for _, line := range []string{`ExecStart="/opt/my tools/concerto-relay" hostd --server https://x/?%%41 --root "/a \"b\" $$c"`, "Environment=PATH=/usr/bin:/home/ann/100%%", "Restart=always",
		"KillMode=process", "WantedBy=default.target"} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the unit lacks the line %s:\n%s", line, text)
		}
	}
	if strings.Contains(text, "User=") {
		t.Error("the unit for a user contains User=")
	}
	if path, err := exec.LookPath("systemd-analyze"); err == nil {
		// systemd-analyze requires an existing program
		unit := strings.ReplaceAll(text, `"/opt/my tools/concerto-relay"`, "/bin/true")
		if err := os.WriteFile(r.File, []byte(unit), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path, "verify", "--user", "--man=no", r.File).CombinedOutput(); err != nil && strings.Contains(string(out), "concerto-hostd.service:") {
			t.Errorf("systemd-analyze verify printed %s", out)
		}
	}
	if got := strings.Join(s.commands, "; "); got != "systemctl --user daemon-reload; systemctl --user enable concerto-hostd.service; systemctl --user restart concerto-hostd.service" {
		t.Error(got)
	}
	s.commands, s.fails = nil, "systemctl --user enable"
	if r, err = install.Install(ctx, o); err != nil || r.Err == nil || strings.Join(r.Todo, "; ") != "systemctl --user enable concerto-hostd.service; systemctl --user restart concerto-hostd.service" {
		t.Errorf("install with a failing command = %+v, error = %v; want the commands to run", r, err)
	}
	s.commands, s.fails = nil, "systemctl --user disable"
	if r, err = install.Uninstall(ctx, o); err != nil || strings.Join(r.Todo, "; ") != "systemctl --user disable --now concerto-hostd.service" {
		t.Errorf("uninstall with a failing command = %+v, error = %v; want the command to run", r, err)
	}
	if _, err := install.Uninstall(ctx, o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("second uninstall: error = %v, want ErrNotExist", err)
	}
	o.System, s.commands, s.fails = true, nil, ""
	if r, err = install.Install(ctx, o); err != nil || r.File != filepath.Join(o.Root, "/etc/systemd/system/concerto-hostd.service") || s.commands[0] != "systemctl daemon-reload" {
		t.Errorf("install for the system = %+v, error = %v, commands = %v", r, err, s.commands)
	}
	if text := read(t, r.File); !strings.Contains(text, "\nUser=ann\n") || !strings.Contains(text, "WantedBy=multi-user.target") {
		t.Error(text)
	}
}

// TestLaunchd checks that the property list is valid XML with the same settings.
func TestLaunchd(t *testing.T) {
	s := &system{}
	o := options(t, s, "darwin")
	r, err := install.Install(ctx, o)
	if err != nil || r.Err != nil || r.File != filepath.Join(o.Root, "/home/ann/Library/LaunchAgents/dev.concerto.hostd.plist") || s.commands[0] != "launchctl load -w "+r.File {
		t.Fatalf("install = %+v, error = %v, commands = %v", r, err, s.commands)
	}
	text := read(t, r.File)
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"<string>/a &#34;b&#34; $c</string>", "<key>KeepAlive</key><true/>", "<key>AbandonProcessGroup</key><true/>", "<string>/usr/bin:/home/ann/100%</string>"} {
		if !strings.Contains(text, part) {
			t.Errorf("the property list lacks %s:\n%s", part, text)
		}
	}
	if r, err = install.Uninstall(ctx, o); err != nil || r.Err != nil || s.commands[1] != "launchctl unload -w "+r.File {
		t.Errorf("uninstall = %+v, error = %v, commands = %v", r, err, s.commands)
	}
}

// TestUnsupportedSystem checks the error if the service cannot be installed.
func TestUnsupportedSystem(t *testing.T) {
	s := &system{}
	o := options(t, s, "plan9")
	if _, err := install.Install(ctx, o); !errors.Is(err, install.ErrUnknown) {
		t.Errorf("install on plan9: error = %v, want ErrUnknown", err)
	}
	o = options(t, s, "linux")
	o.Environ = nil
	if _, err := install.Install(ctx, o); err == nil || !strings.Contains(err.Error(), "HOME is not set") {
		t.Errorf("install without HOME: error = %v", err)
	}
	o = options(t, s, "linux")
	if err := os.WriteFile(filepath.Join(o.Root, "home"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := install.Install(ctx, o); err == nil || !strings.Contains(err.Error(), "install hostd: mkdir") {
		t.Errorf("install in a directory that cannot be created: error = %v", err)
	}
}
