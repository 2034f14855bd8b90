package keeper

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"

	"github.com/concerto-lang/concerto/runtime/mcpbridge"
)

// Side is a line to one who has come over a process's bridge.
type Side struct {
	Client int
	Line   []byte
}

const sideLen = 4 + 4 // before a side's line: the client, and the length

func (x Side) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(x.Client))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(x.Line)))
	return append(dst, x.Line...)
}

func readSides(b []byte) (all []Side, err error) {
	for len(b) > 0 {
		if len(b) < sideLen {
			return nil, errNoFrame
		}
		client, n := binary.BigEndian.Uint32(b), uint64(binary.BigEndian.Uint32(b[4:]))
		if b = b[sideLen:]; uint64(len(b)) < n {
			return nil, errNoFrame
		}
		all, b = append(all, Side{int(client), b[:n:n]}), b[n:]
	}
	return all, nil
}

// sideMark begins a line that came over the bridge; the client's number follows, a blank and the line, or
// nothing when the client has left. It is a control character, with which no JSON text begins.
const sideMark = 0x1e

// sideRoom is how much longer a line may be by that.
const sideRoom = 32

// OverBridge takes a line of a process apart that came over its bridge; left: the client has gone. ok is
// false for one of the process's own.
func OverBridge(text []byte) (client int, line []byte, left, ok bool) {
	if len(text) == 0 || text[0] != sideMark {
		return 0, nil, false, false
	}
	number, line, said := bytes.Cut(text[1:], []byte{' '})
	client, err := strconv.Atoi(string(number))
	return client, line, !said, err == nil
}

// sides are what came over a process's bridge, among what it wrote.
type sides struct {
	bytes int64 // that were added so
	wait  int   // so many lines wait to be
	read  int64 // bytes of what the process wrote
	mark  int64 // and how many those were when they were counted last
	open  bool  // the spool ends within a line
	shut  bool  // nothing is added any more
}

// openBridge opens the process's bridge.
func (h *hosted) openBridge() (err error) {
	if h.spec.Bridge == "" {
		return nil
	}
	long := h.spec.LongLine
	if long <= 0 {
		long = defaultLongLine
	}
	h.bridge, err = mcpbridge.Open(mcpbridge.Options{Path: h.spec.Bridge, MaxLine: max(long-sideRoom, 1),
		Heard: func(client int, line []byte) {
			h.beside(append(append(strconv.AppendInt([]byte{sideMark}, int64(client), 10), ' '), append(line, '\n')...))
		},
		Left: func(client int) {
			h.beside(append(strconv.AppendInt([]byte{sideMark}, int64(client), 10), '\n'))
		},
		Unread: func() { h.keeper.tell(said{Event: evUnread, ID: h.spec.ID}) },
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.keeper.Dir, h.spec.dir(), bridgeFile), []byte(h.spec.Bridge), 0o600)
}

// sweepBridges removes the directories of bridges whose keeper was killed.
func sweepBridges(dir string) {
	dirs, _ := os.ReadDir(filepath.Join(dir, hostsDir))
	for _, d := range dirs {
		file := filepath.Join(dir, hostsDir, d.Name(), bridgeFile)
		if path, err := os.ReadFile(file); err == nil {
			mcpbridge.Remove(string(path))
			_ = os.Remove(file) // else it is looked at again
		}
	}
}

// beside adds a line that came over the bridge, behind all that the process had written when it came,
// and had written when that was counted last: so a line counts to the exchange in which it was said.
func (h *hosted) beside(text []byte) {
	written := h.proc.Written()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sides.wait++
	for !h.sides.shut && !h.over && !h.ended && (h.sides.read < max(written, h.sides.mark) || h.sides.open || h.out.bytes-h.acked.bytes > unjournaled) {
		h.moved.Wait()
	}
	h.sides.wait--
	if !h.sides.shut && !h.over && !h.ended {
		h.sides.bytes += int64(len(text))
		h.spool(text)
	}
}

// closeBridge ends the bridge.
func (h *hosted) closeBridge() {
	if h.bridge == nil {
		return
	}
	h.mu.Lock()
	h.sides.shut = true
	h.mu.Unlock()
	h.moved.Broadcast()
	h.bridge.End()
	_ = os.Remove(filepath.Join(h.keeper.Dir, h.spec.dir(), bridgeFile)) // else there is nothing to remove where it says
}
