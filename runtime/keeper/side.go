package keeper

import (
	"bytes"
	"encoding/binary"
	"path"
	"strconv"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/runtime/mcpbridge"
)

// Side is a line for a client of the bridge of a process.
type Side struct {
	Client int
	Line   []byte
}

const sideLen = 4 + 4 // length of a side's header: client number and length of the line

func (x Side) appendTo(dst []byte) []byte {
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

// bridgeMark is the first byte of a line that came over the bridge. It is followed by the client's
// number and then by a space and the line, or by nothing if the client has disconnected. The mark
// is a control character, which cannot begin a JSON text.
const bridgeMark = 0x1e

// bridgeMarkSize is the maximum length of the mark with the number.
const bridgeMarkSize = 32

// ParseBridgeLine parses a line in the output of a process that came over its bridge. left means
// that the client has disconnected. ok is false for a line that the process itself has written.
func ParseBridgeLine(text []byte) (client int, line []byte, left, ok bool) {
	if len(text) == 0 || text[0] != bridgeMark {
		return 0, nil, false, false
	}
	number, line, ok := bytes.Cut(text[1:], []byte{' '})
	client, err := strconv.Atoi(string(number))
	return client, line, !ok, err == nil
}

// blockedMark is the first byte of a line that contains an address which the process's sandbox
// refused.
const blockedMark = 0x1d

// ParseBlockedLine parses a line in the output of a process that reports a refused address. ok is
// false for other lines.
func ParseBlockedLine(text []byte) (address string, ok bool) {
	if len(text) == 0 || text[0] != blockedMark {
		return "", false
	}
	return string(text[1:]), true
}

// appendBlocked inserts a line about a refused address into the output.
func (h *hosted) appendBlocked(address string) {
	<-h.started
	h.appendBridgeLine(append(append([]byte{blockedMark}, address...), '\n'))
}

// bridgeLines records the lines of the bridge in the output of a process.
type bridgeLines struct {
	appended int64 // number of bytes that were inserted
	waiting  int   // number of lines that wait to be inserted
	read     int64 // number of bytes in the spool that the process itself has written
	mark     int64 // number of bytes that the process had written at the last call of bytesWritten
	midLine  bool  // the spool ends with an incomplete line
	closed   bool  // no further lines may be inserted
}

// prepareBridge creates the directory of the process's bridge, so that the sandbox of the process
// can contain it.
func (h *hosted) prepareBridge() error {
	if h.spec.Bridge == "" {
		return nil
	}
	return mcpbridge.Prepare(h.spec.Bridge)
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
	h.bridge, err = mcpbridge.Open(mcpbridge.Options{Path: h.spec.Bridge, Prepared: true, MaxLine: max(long-bridgeMarkSize, 1),
		OnLine: func(client int, line []byte) {
			h.appendBridgeLine(append(append(strconv.AppendInt([]byte{bridgeMark}, int64(client), 10), ' '), append(line, '\n')...))
		},
		OnDisconnect: func(client int) {
			h.appendBridgeLine(append(strconv.AppendInt([]byte{bridgeMark}, int64(client), 10), '\n'))
		},
		OnUnread: func() { h.keeper.notify(reply{Event: evUnread, ID: h.spec.ID}) },
	})
	if err != nil {
		return err
	}
	return h.keeper.files.Put(path.Join(h.spec.dir(), bridgeFile), []byte(h.spec.Bridge))
}

// sweepBridges removes the sockets of bridges whose keeper was killed.
func sweepBridges(files disk.Files) {
	names, _ := files.List(hostsDir)
	for _, name := range names {
		file := path.Join(hostsDir, name, bridgeFile)
		if bridge, err := files.Read(file); err == nil {
			mcpbridge.Remove(string(bridge))
			_ = files.Remove(file) // if this fails, the next keeper tries again
		}
	}
}

// appendBridgeLine inserts a line of the bridge into the output. It inserts the line after all
// bytes that the process had written when the line arrived and at the last call of bytesWritten.
// The line therefore belongs to the exchange in which the client sent it.
func (h *hosted) appendBridgeLine(text []byte) {
	written := h.proc.Written()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sides.waiting++
	for !h.sides.closed && !h.outputEnded && !h.keeperEnded && (h.sides.read < max(written, h.sides.mark) || h.sides.midLine || h.out.bytes-h.acked.passed.bytes > maxUnjournaled) {
		h.changed.Wait()
	}
	h.sides.waiting--
	if !h.sides.closed && !h.outputEnded && !h.keeperEnded {
		h.sides.appended += int64(len(text))
		h.appendOutput(text)
	}
}

// closeBridge closes the bridge.
func (h *hosted) closeBridge() {
	if h.bridge == nil {
		if h.spec.Bridge != "" {
			mcpbridge.Remove(h.spec.Bridge) // it was prepared only
		}
		return
	}
	h.mu.Lock()
	h.sides.closed = true
	h.mu.Unlock()
	h.changed.Broadcast()
	h.bridge.End()
	// if this fails, sweepBridges will find nothing to remove
	_ = h.keeper.files.Remove(path.Join(h.spec.dir(), bridgeFile))
}
