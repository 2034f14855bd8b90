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
			return nil, errBadFrame
		}
		client, n := binary.BigEndian.Uint32(b), uint64(binary.BigEndian.Uint32(b[4:]))
		if b = b[sideLen:]; uint64(len(b)) < n {
			return nil, errBadFrame
		}
		all, b = append(all, Side{int(client), b[:n:n]}), b[n:]
	}
	return all, nil
}

// bridgeMark begins a line that came over the bridge; the client's number follows, a blank and the line, or
// nothing when the client has left. It is a control character, with which no JSON text begins.
const bridgeMark = 0x1e

// bridgeMarkSize is how much longer a line may be by that.
const bridgeMarkSize = 32

// ParseBridgeLine takes a line of a process apart that came over its bridge; left: the client has gone. ok is
// false for one of the process's own.
func ParseBridgeLine(text []byte) (client int, line []byte, left, ok bool) {
	if len(text) == 0 || text[0] != bridgeMark {
		return 0, nil, false, false
	}
	number, line, said := bytes.Cut(text[1:], []byte{' '})
	client, err := strconv.Atoi(string(number))
	return client, line, !said, err == nil
}

// bridgeLines are what came over a process's bridge, among what it wrote.
type bridgeLines struct {
	appended int64 // that were added so
	waiting  int   // so many lines wait to be
	read  int64 // bytes of what the process wrote
	mark  int64 // and how many those were when they were counted last
	midLine  bool  // the spool ends within a line
	closed  bool  // nothing is added any more
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
	h.bridge, err = mcpbridge.Open(mcpbridge.Options{Path: h.spec.Bridge, MaxLine: max(long-bridgeMarkSize, 1),
		Heard: func(client int, line []byte) {
			h.appendBridgeLine(append(append(strconv.AppendInt([]byte{bridgeMark}, int64(client), 10), ' '), append(line, '\n')...))
		},
		Left: func(client int) {
			h.appendBridgeLine(append(strconv.AppendInt([]byte{bridgeMark}, int64(client), 10), '\n'))
		},
		Unread: func() { h.keeper.notify(reply{Event: evUnread, ID: h.spec.ID}) },
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

// appendBridgeLine adds a line that came over the bridge, behind all that the process had written when it came,
// and had written when that was counted last: so a line counts to the exchange in which it was said.
func (h *hosted) appendBridgeLine(text []byte) {
	written := h.proc.Written()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sides.waiting++
	for !h.sides.closed && !h.outputEnded && !h.keeperEnded && (h.sides.read < max(written, h.sides.mark) || h.sides.midLine || h.out.bytes-h.acked.bytes > maxUnjournaled) {
		h.changed.Wait()
	}
	h.sides.waiting--
	if !h.sides.closed && !h.outputEnded && !h.keeperEnded {
		h.sides.appended += int64(len(text))
		h.appendOutput(text)
	}
}

// closeBridge ends the bridge.
func (h *hosted) closeBridge() {
	if h.bridge == nil {
		return
	}
	h.mu.Lock()
	h.sides.closed = true
	h.mu.Unlock()
	h.changed.Broadcast()
	h.bridge.End()
	_ = os.Remove(filepath.Join(h.keeper.Dir, h.spec.dir(), bridgeFile)) // else there is nothing to remove where it says
}
