package keeper

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/holder"
)

// TestRemovedDirectory checks that a keeper ends at the first tick after its run's directory was
// removed, if no client is attached, but not after the directory was renamed.
func TestRemovedDirectory(t *testing.T) {
	if !Supported {
		t.Skip("there is no keeper here")
	}
	dir := filepath.Join(t.TempDir(), "job")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := newKeeper(config{Dir: dir, Run: "r_test", Executable: os.Args[0]}, io.Discard)
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
		ticks <- time.Time{} // the previous tick was handled
		select {
		case <-k.done:
			t.Fatalf("the keeper ends, and %s", why)
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
	case <-watched: // the second to last tick was handled after the run had disconnected
	}
	<-watched
	if err := k.unlock(); err != nil {
		t.Error(err)
	}
	<-k.done
}
