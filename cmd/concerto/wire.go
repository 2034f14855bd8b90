package main

import (
	"fmt"
	"os"
	"time"

	"github.com/concerto-lang/concerto"
	"github.com/concerto-lang/concerto/internal/procgroup"
	"github.com/concerto-lang/concerto/internal/secret"
	"github.com/concerto-lang/concerto/internal/wire"
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
func (a *app) recordHost(path, program string, c *concerto.HostConfig) (add func(wire.Line), end func(error) error, err error) {
	if path == "" {
		return nil, func(err error) error { return err }, nil
	}
	file, err := a.recordFile("--wire", path)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	w := wire.NewWriter(file, wire.Header{Version: wire.Version, Started: began.UTC().Format(time.RFC3339), Program: program},
		func() float64 { return float64(time.Since(began).Microseconds()) / 1e6 })
	known := a.secretsOf(c)
	add = func(l wire.Line) {
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
func (a *app) secretsOf(c *concerto.HostConfig) *secret.Set {
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
