package engine

import (
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// keeperClient returns the client of the keeper of the run's hosts, or nil on systems without one.
func (d *durableRun) keeperClient(c *runtime.Config, orphan float64) (*keeper.Client, error) {
	if !keeper.Supported || c.Executable == "" || len(c.Hosts) == 0 {
		return nil, nil
	}
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return nil, err
	}
	return keeper.New(keeper.Options{Dir: dir, Run: d.id, Owner: d.owner, Executable: c.Executable, Orphan: time.Duration(orphan * float64(time.Second))}), nil
}
