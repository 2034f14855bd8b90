package faultproxy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Direction identifies the side that sends a frame.
type Direction int

const (
	ToServer Direction = iota
	ToClient
)

func (d Direction) String() string {
	return [...]string{"to the server", "to the client"}[d]
}

// Frame is a WebSocket frame (RFC 6455, section 5.2).
type Frame struct {
	Connection int // number of the connection, counted from 1
	Direction
	N       int    // number of the frame on its connection and in its direction, counted from 1
	Opcode  byte   // 1 is text, 8 is close, 9 is ping, 10 is pong
	Payload []byte // unmasked
	raw     []byte // the frame with its header, as received
}

// IsText reports whether the frame contains a message of the relay's protocol.
func (f Frame) IsText() bool { return f.Opcode == 1 }

// maxFrame is a size in bytes that no frame of the relay exceeds.
const maxFrame = 16 << 20

// readFrame reads the next frame. At the end of the stream it returns io.EOF.
func readFrame(r *bufio.Reader) (Frame, error) {
	head := make([]byte, 2, 14)
	if _, err := io.ReadFull(r, head); err != nil {
		return Frame{}, err
	}
	size, masked := uint64(head[1]&0x7f), head[1]&0x80 != 0
	more := 0
	switch size {
	case 126:
		more = 2
	case 127:
		more = 8
	}
	rest := more
	if masked {
		rest += 4
	}
	head = head[:2+rest]
	if _, err := io.ReadFull(r, head[2:]); err != nil {
		return Frame{}, fmt.Errorf("incomplete frame header: %w", err)
	}
	switch more {
	case 2:
		size = uint64(binary.BigEndian.Uint16(head[2:]))
	case 8:
		size = binary.BigEndian.Uint64(head[2:])
	}
	if size > maxFrame {
		return Frame{}, fmt.Errorf("a frame of %d bytes exceeds the limit of %d", size, maxFrame)
	}
	raw := append(head, make([]byte, size)...)
	if _, err := io.ReadFull(r, raw[len(head):]); err != nil {
		return Frame{}, fmt.Errorf("incomplete frame: %w", err)
	}
	f := Frame{Opcode: raw[0] & 0x0f, Payload: raw[len(head):], raw: raw}
	if masked {
		mask := head[2+more:]
		f.Payload = make([]byte, size)
		for i, b := range raw[len(head):] {
			f.Payload[i] = b ^ mask[i%4]
		}
	}
	return f, nil
}
