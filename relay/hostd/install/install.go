// Package install installs hostd as a service of systemd or launchd (spec/relay.md). The service
// manager restarts hostd if it exits; runs survive the restart.
package install

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Names of the installed service.
const (
	unitName  = "concerto-hostd.service"
	agentName = "dev.concerto.hostd"
)

// Options describes the service to install.
type Options struct {
	Executable string   // absolute path of the program
	Args       []string // arguments: hostd and its flags
	Environ    []string // environment, of which HOME, PATH, XDG_CONFIG_HOME and SUDO_USER are used
	System     bool     // install for the whole machine instead of the user
	OS         string   // operating system; "" means the current one
	Root       string   // prefix of all paths, for tests
	// Run runs a system command. If it is nil, the command is executed.
	Run func(ctx context.Context, name string, args ...string) error
}

// Result describes what Install or Uninstall has done.
type Result struct {
	File string
	// Todo lists the commands that the user must run, because Err prevented it.
	Todo []string
	Err  error
}

// ErrUnknown reports that the operating system is not supported.
var ErrUnknown = errors.New("hostd needs systemd or launchd to be installed; neither exists on")

// runTimeout is the time limit of a system command.
const runTimeout = 20 * time.Second

// Install writes the service file and starts the service. If it cannot start the service, the file
// remains and the result contains the commands to run.
func Install(ctx context.Context, o Options) (Result, error) {
	file, text, err := o.file()
	if err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return Result{}, o.withSudoHint(fmt.Errorf("install hostd: %w", err))
	}
	if err := userfile.Replace(file, []byte(text), 0o644); err != nil {
		return Result{}, o.withSudoHint(fmt.Errorf("install hostd: %w", err))
	}
	return o.runAll(ctx, file, o.startCommands(file)), nil
}

// Uninstall stops the service and removes its file. It returns fs.ErrNotExist if the service is not
// installed.
func Uninstall(ctx context.Context, o Options) (Result, error) {
	file, _, err := o.file()
	if err != nil {
		return Result{}, err
	}
	if _, err := os.Stat(file); err != nil {
		return Result{}, fmt.Errorf("uninstall hostd: %w", err)
	}
	before, after := o.stopCommands(file)
	out := o.runAll(ctx, file, before)
	if err := os.Remove(file); err != nil {
		return out, o.withSudoHint(fmt.Errorf("uninstall hostd: %w", err))
	}
	rest := o.runAll(ctx, file, after)
	return Result{File: file, Todo: append(out.Todo, rest.Todo...), Err: errors.Join(out.Err, rest.Err)}, nil
}

// withSudoHint adds a hint to a permission error.
func (o *Options) withSudoHint(err error) error {
	if o.System && errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: --system requires root: run it with sudo", err)
	}
	return err
}

// runAll runs commands until one fails. It returns a result with the remaining commands.
func (o *Options) runAll(ctx context.Context, file string, commands [][]string) Result {
	run := o.Run
	if run == nil {
		run = runCommand
	}
	for i, c := range commands {
		limited, cancel := context.WithTimeout(ctx, runTimeout)
		err := run(limited, c[0], c[1:]...)
		cancel()
		if err == nil {
			continue
		}
		out := Result{File: file, Err: err}
		for _, c := range commands[i:] {
			out.Todo = append(out.Todo, strings.Join(c, " "))
		}
		return out
	}
	return Result{File: file}
}

func runCommand(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (o *Options) os() string {
	if o.OS != "" {
		return o.OS
	}
	return runtime.GOOS
}

func (o *Options) env(name string) string {
	for _, kv := range o.Environ {
		if value, found := strings.CutPrefix(kv, name+"="); found {
			return value
		}
	}
	return ""
}

// file returns the path and the content of the service file.
func (o *Options) file() (file, text string, err error) {
	home := o.env("HOME")
	if home == "" && !o.System {
		return "", "", errors.New("install hostd: HOME is not set")
	}
	switch {
	case o.os() == "linux" && o.System:
		return filepath.Join(o.Root, "/etc/systemd/system", unitName), o.unit(), nil
	case o.os() == "linux":
		config := o.env("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(home, ".config")
		}
		return filepath.Join(o.Root, config, "systemd", "user", unitName), o.unit(), nil
	case o.os() == "darwin" && o.System:
		return filepath.Join(o.Root, "/Library/LaunchDaemons", agentName+".plist"), o.agent(), nil
	case o.os() == "darwin":
		return filepath.Join(o.Root, home, "Library", "LaunchAgents", agentName+".plist"), o.agent(), nil
	}
	return "", "", fmt.Errorf("%w %s", ErrUnknown, o.os())
}

func (o *Options) systemctl(args ...string) []string {
	if o.System {
		return append([]string{"systemctl"}, args...)
	}
	return append([]string{"systemctl", "--user"}, args...)
}

func (o *Options) startCommands(file string) [][]string {
	if o.os() == "darwin" {
		return [][]string{{"launchctl", "load", "-w", file}}
	}
	return [][]string{o.systemctl("daemon-reload"), o.systemctl("enable", unitName), o.systemctl("restart", unitName)}
}

func (o *Options) stopCommands(file string) (before, after [][]string) {
	if o.os() == "darwin" {
		return [][]string{{"launchctl", "unload", "-w", file}}, nil
	}
	return [][]string{o.systemctl("disable", "--now", unitName)}, [][]string{o.systemctl("daemon-reload")}
}

// unit returns the unit file for systemd. When systemd stops the unit, it kills only hostd. The
// runs continue, and the next hostd finds them. The unit sets PATH, because a service does not
// inherit the user's PATH.
func (o *Options) unit() string {
	user, wanted := "", "default.target"
	if o.System {
		wanted = "multi-user.target"
		if name := o.env("SUDO_USER"); name != "" {
			user = "User=" + name + "\n"
		}
	}
	start := []string{quoteWord(o.Executable)}
	for _, arg := range o.Args {
		start = append(start, quoteWord(arg))
	}
	return `[Unit]
Description=Concerto's hostd: runs of agents on this machine, for the relay
After=network.target

[Service]
` + user + `ExecStart=` + strings.Join(start, " ") + `
Environment=` + quoteWord("PATH="+o.env("PATH")) + `
Restart=always
RestartSec=2
RestartPreventExitStatus=2
KillMode=process

[Install]
WantedBy=` + wanted + "\n"
}

// quoteWord quotes a word for a unit file, in which % and $ are special characters.
func quoteWord(word string) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$", "\n", `\n`).Replace(word)
	if word == "" || strings.ContainsAny(word, " \t'\"\\;") {
		return `"` + word + `"`
	}
	return word
}

// agent returns the property list for launchd.
func (o *Options) agent() string {
	var b strings.Builder
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key><string>` + agentName + `</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, arg := range append([]string{o.Executable}, o.Args...) {
		b.WriteString("\t\t<string>" + escapeXML(arg) + "</string>\n")
	}
	b.WriteString("\t</array>\n")
	if name := o.env("SUDO_USER"); o.System && name != "" {
		b.WriteString("\t<key>UserName</key><string>" + escapeXML(name) + "</string>\n")
	}
	b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n\t\t<key>PATH</key><string>" + escapeXML(o.env("PATH")) + "</string>\n\t</dict>\n")
	for _, key := range []string{"RunAtLoad", "KeepAlive", "AbandonProcessGroup"} {
		b.WriteString("\t<key>" + key + "</key><true/>\n")
	}
	b.WriteString("</dict>\n</plist>\n")
	return b.String()
}

func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // ignore the error: a strings.Builder never fails
	return b.String()
}
