package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/runtime/host"
)

// WireUsage is the help text of --wire.
const WireUsage = "record each line to and from hosts in `FILE`"

// checkNotPlayed returns an error if one of the hosts replays the recording at path. Recording to
// path would truncate that file first.
func checkNotPlayed(a *console.Console, path string, hosts []host.Config) error {
	if path == "" {
		return nil
	}
	file, err := os.Stat(a.Abs(path))
	if err != nil {
		return nil // the file does not exist yet
	}
	for i := range hosts {
		c := &hosts[i]
		if !c.Recorded() {
			continue
		}
		f, err := ParseReplayArgs(c.Args[2:])
		if err != nil {
			continue // starting the host reports the error
		}
		played := filepath.FromSlash(f.File)
		if !filepath.IsAbs(played) {
			played = filepath.Join(c.Dir, f.Dir, played)
		}
		if other, err := os.Stat(a.Abs(played)); err == nil && os.SameFile(file, other) {
			return console.Usage(fmt.Sprintf("use another file, or let [hosts.%s] start the host to record", c.Connector), "--wire: %s is the recording that host '%s' plays", path, c.Name)
		}
	}
	return nil
}

// CheckWireFile returns an error if a host of the program replays the recording at path.
func CheckWireFile(a *console.Console, p *engine.Program, path string) error {
	hosts, err := p.HostConfigs()
	if err != nil {
		return err
	}
	return checkNotPlayed(a, path, hosts)
}

// RecordHost starts a recording of a host that is used outside a run. add is nil if path is "". end
// closes the recording; it returns err if that is not nil, and otherwise the error of the
// recording.
func RecordHost(a *console.Console, path, program string, c *host.Config) (add func(hosttrace.Line), end func(error) error, err error) {
	if path == "" {
		return nil, func(err error) error { return err }, nil
	}
	if err := checkNotPlayed(a, path, []host.Config{*c}); err != nil {
		return nil, nil, err
	}
	file, err := a.CreateRecord("--wire", path)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	w := hosttrace.NewWriter(file, hosttrace.Header{Version: hosttrace.Version, Started: began.UTC().Format(time.RFC3339), Program: program},
		func() float64 { return float64(time.Since(began).Microseconds()) / 1e6 })
	secrets := hostSecrets(a, c)
	add = func(l hosttrace.Line) {
		l.Text = string(secrets.JSON([]byte(l.Text)))
		w.Add(l)
	}
	end = func(err error) error {
		if why := w.Err(); err == nil && why != nil {
			err = fmt.Errorf("write %s: %w", path, console.Cause(why))
		}
		return console.CloseRecord(err, file, path)
	}
	return add, end, nil
}

// hostSecrets returns the values of environment variables that contain secrets: variables that the
// host's or another host's configuration names, and variables whose names suggest a secret.
func hostSecrets(a *console.Console, c *host.Config) *secret.Set {
	secrets := &secret.Set{}
	add := func(name string) { secrets.Add(name, a.Getenv(name)) }
	for _, p := range c.ParamsEnv {
		add(p.Env)
	}
	for name := range c.Keys {
		add(name)
	}
	secrets.AddFromEnviron(a.Environ)
	return secrets
}

// ReplayFlags are the arguments of host replay.
type ReplayFlags struct {
	File, Host, Dir string
	Proc            int
	Timing, Strict  bool
	Version, Help   bool
}

// ParseReplayArgs parses the recording's file and the flags of host replay. It ignores all other
// arguments.
func ParseReplayArgs(args []string) (f ReplayFlags, err error) {
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		take := func() string {
			if !hasValue && i+1 < len(args) {
				i++
				value = args[i]
			}
			return value
		}
		switch name {
		case "--host":
			f.Host = take()
		case "--proc":
			text := take()
			if f.Proc, err = strconv.Atoi(text); err != nil || f.Proc < 1 {
				return f, console.Usage("processes are numbered from 1", "invalid value %q for --proc", text)
			}
		case "-C", "--directory": // of all commands, before the file
			if f.File == "" {
				f.Dir = take()
			}
		case "--timing":
			f.Timing = true
		case "--strict":
			f.Strict = true
		case "--version":
			f.Version = true
		case "--help", "-h":
			f.Help = f.Help || f.File == ""
		default:
			if f.File == "" && !strings.HasPrefix(name, "-") {
				f.File = args[i]
			}
		}
	}
	if f.File == "" && !f.Help {
		return f, console.Usage("create a recording with `concerto run --wire talk.wire`", "host replay requires the file of a recording")
	}
	return f, nil
}
