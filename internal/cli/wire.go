package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
)

// wireUsage is the help of --wire.
const wireUsage = "write each line that passes to and from hosts to `FILE`"

// recordFile opens the file of a record, for the flag that names it.
func (a *app) recordFile(flag, path string) (*os.File, error) {
	file, err := privateFile(a.abs(path))
	if err != nil {
		return nil, usage("", "%s: write %s: %v", flag, path, cause(err))
	}
	return file, nil
}

// unplayed refuses to record into a file that one of the hosts plays: it would be
// emptied before it is played.
func (a *app) unplayed(path string, hosts []engine.HostConfig) error {
	if path == "" {
		return nil
	}
	file, err := os.Stat(a.abs(path))
	if err != nil {
		return nil // a new file
	}
	for i := range hosts {
		c := &hosts[i]
		if !c.Recorded() {
			continue
		}
		f, err := replayArgs(c.Args[2:])
		if err != nil {
			continue // the host says so
		}
		played := filepath.FromSlash(f.file)
		if !filepath.IsAbs(played) {
			played = filepath.Join(c.Dir, f.dir, played)
		}
		if other, err := os.Stat(a.abs(played)); err == nil && os.SameFile(file, other) {
			return usage(fmt.Sprintf("name another file, or let [hosts.%s] start what is to be recorded", c.Connector), "--wire: %s is the recording that host '%s' plays", path, c.Name)
		}
	}
	return nil
}

// unplayedBy is unplayed for the hosts of a program.
func (a *app) unplayedBy(p *engine.Program, path string) error {
	hosts, err := p.HostConfigs()
	if err != nil {
		return err
	}
	return a.unplayed(path, hosts)
}

// closeRecord closes the file of a record. It gives err, or why the record may not
// be whole.
func closeRecord(err error, file *os.File, path string) error {
	if cerr := file.Close(); err == nil && cerr != nil {
		return fmt.Errorf("write %s: %w", path, cause(cerr))
	}
	return err
}

// recordHost begins the recording of a host that no run uses; add is nil when path is
// "". end ends it, and gives the error that it is given or why the recording is not
// whole.
func (a *app) recordHost(path, program string, c *engine.HostConfig) (add func(hosttrace.Line), end func(error) error, err error) {
	if path == "" {
		return nil, func(err error) error { return err }, nil
	}
	if err := a.unplayed(path, []engine.HostConfig{*c}); err != nil {
		return nil, nil, err
	}
	file, err := a.recordFile("--wire", path)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	w := hosttrace.NewWriter(file, hosttrace.Header{Version: hosttrace.Version, Started: began.UTC().Format(time.RFC3339), Program: program},
		func() float64 { return float64(time.Since(began).Microseconds()) / 1e6 })
	known := a.secretsOf(c)
	add = func(l hosttrace.Line) {
		l.Text = string(known.JSON([]byte(l.Text)))
		w.Add(l)
	}
	end = func(err error) error {
		if why := w.Err(); err == nil && why != nil {
			err = fmt.Errorf("write %s: %w", path, cause(why))
		}
		return closeRecord(err, file, path)
	}
	return add, end, nil
}

// secretsOf are the values of the variables that hold keys: those of the host, those
// of others in its manifest, and all whose names suggest it.
func (a *app) secretsOf(c *engine.HostConfig) *secret.Set {
	known := &secret.Set{}
	add := func(name string) { known.Add(name, procgroup.Getenv(a.environ, name)) }
	for _, p := range c.ParamsEnv {
		add(p.Env)
	}
	for name := range c.Keys {
		add(name)
	}
	known.AddNamed(a.environ)
	return known
}
