package keeper

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// past is a process that has ended, as its keeper has: what it said is read from its file.
func (c *Client) past(e ended, from int64, longLine int) (*Conn, error) {
	f, err := os.Open(filepath.Join(c.o.Dir, e.dir(), outFile))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	var hide hiding
	hide.add(c.secrets)
	s := &spool{f: f, hide: &hide, size: info.Size(), begin: check{lines: e.Behind, bytes: e.Offset}}
	if from == 0 {
		from = e.Acked + 1
	}
	at, before, err := s.seek(from - 1)
	if err != nil {
		f.Close()
		return nil, err
	}
	for i := range e.Script {
		e.Script[i].Note = []byte(hide.back(string(e.Script[i].Note)))
	}
	exit := *e.Exit
	exit.Stderr = hide.back(exit.Stderr)
	conn := &Conn{id: e.ID, known: e.Process, data: &pastData{s: s, at: at.at}, frames: frames{n: e.Taken, begun: -2}, done: make(chan struct{}), over: make(chan struct{})}
	conn.lines = ndjson.NewReader(&source{conn}, longLine).Behind(before.lines, before.bytes)
	conn.drains()
	conn.ends(&exit)
	return conn, nil
}

// pastData is a connection on which a file comes.
type pastData struct {
	net.Conn // nil: what is not here is not used
	s        *spool
	at       int64
	text     []byte
}

func (p *pastData) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		raw, text, err := p.s.read(p.at)
		if err != nil {
			return 0, err
		}
		if len(raw) == 0 {
			p.s.f.Close()
			return 0, io.EOF
		}
		p.text, p.at = text, p.at+int64(len(raw))
	}
	n := copy(b, p.text)
	p.text = p.text[n:]
	return n, nil
}

func (p *pastData) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func (p *pastData) SetReadDeadline(time.Time) error { return nil }

func (p *pastData) SetWriteDeadline(time.Time) error { return nil }

func (p *pastData) Close() error { return p.s.f.Close() }
