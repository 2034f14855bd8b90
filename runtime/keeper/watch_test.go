package keeper

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/holder"
)

// TestRemovedDirectory checks that a keeper without a client ends at the first tick after the
// directory of its run was removed. Renaming the directory must not end the keeper.
func TestRemovedDirectory(t *testing.T) {
	if !Supported {
		t.Skip("this system does not support keepers")
	}
	dir := filepath.Join(t.TempDir(), "job")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := newKeeper(system{}, config{Dir: dir, Run: "r_test", Executable: os.Args[0]}, io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer k.listener.Close()
	defer k.addressFD.Close()
	ticks := make(chan time.Time)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		k.watchRemoval(ticks)
	}()
	stays := func(why string) {
		t.Helper()
		ticks <- time.Time{}
		ticks <- time.Time{} // returns when the previous tick was handled
		select {
		case <-k.done:
			t.Fatalf("the keeper ended although %s", why)
		default:
		}
	}
	attached := func(c *holder.Peer) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.control = c
	}
	stays("its directory is there")
	renamed := dir + ".renamed"
	if err := os.Rename(dir, renamed); err != nil {
		t.Fatal(err)
	}
	stays("its directory was only renamed")
	attached(&holder.Peer{})
	if err := os.RemoveAll(renamed); err != nil {
		t.Fatal(err)
	}
	stays("a run is attached")
	attached(nil)
	select {
	case ticks <- time.Time{}:
	case <-watched: // the last tick but one was handled after the run had disconnected
	}
	<-watched
	if err := k.unlock(); err != nil {
		t.Error(err)
	}
	<-k.done
}
