package engine

import (
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// keeperClient returns the client of the keeper, the process in which the run's hosts continue when
// this process exits. It returns nil on systems without a keeper. orphan is the time in seconds
// after which the keeper stops hosts whose run is not resumed.
func (d *durableRun) keeperClient(o *Options, c *runtime.Config, orphan float64) (*keeper.Client, error) {
	if !keeper.Supported || c.Executable == "" || len(c.Hosts) == 0 {
		return nil, nil
	}
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return nil, err
	}
	k := keeper.Options{Dir: dir, Run: d.id, Owner: d.owner, Executable: c.Executable, Orphan: time.Duration(orphan * float64(time.Second))}
	if o.own.seams != nil {
		k.System = o.own.seams.Keeper
	}
	return keeper.New(k), nil
}
