package keeper

import (
	"io"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// openEnded returns a Conn for a process that exited before its keeper exited. Its output is read
// from the file.
func (c *Client) openEnded(e endRecord, from int64, longLine int) (*Conn, error) {
	f, err := c.files.Open(path.Join(e.dir(), outFile), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		f.Close()
		return nil, err
	}
	var hide redactor
	hide.addSecrets(c.secrets)
	s := &spool{f: f, hide: &hide, size: size, inFile: size, begin: checkpoint{lines: e.LinesBefore, bytes: e.Offset}}
	if from == 0 {
		from = e.Acked + 1
	}
	at, before, err := s.seekLine(from - 1)
	if err != nil {
		f.Close()
		return nil, err
	}
	for i := range e.Script {
		e.Script[i].Note = []byte(hide.restoreText(string(e.Script[i].Note)))
	}
	exit := *e.Exit
	exit.Stderr = hide.restoreText(exit.Stderr)
	data := &fileConn{spool: s, at: at.at}
	conn := &Conn{id: e.ID, opened: e.Process, data: data, frameCounters: frameCounters{lastNumber: e.Accepted, beginOffset: -2}, done: make(chan struct{}), outputDone: make(chan struct{})}
	conn.lines = ndjson.NewReader(&outputReader{conn}, longLine).StartAfter(before.lines, before.bytes)
	conn.markOutputEnded()
	conn.markExited(&exit)
	return conn, nil
}

// fileConn is a connection whose Read reads a spool.
type fileConn struct {
	Socket // nil, because the other methods are not called
	spool  *spool
	at     int64
	text   []byte
}

func (p *fileConn) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		raw, text, err := p.spool.readAt(p.at)
		if err != nil {
			return 0, err
		}
		if len(raw) == 0 {
			p.spool.f.Close()
			return 0, io.EOF
		}
		p.text, p.at = text, p.at+int64(len(raw))
	}
	n := copy(b, p.text)
	p.text = p.text[n:]
	return n, nil
}

func (p *fileConn) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func (p *fileConn) WriteNow([]byte) int { return 0 }

func (p *fileConn) SetReadDeadline(time.Time) error { return nil }

func (p *fileConn) SetWriteDeadline(time.Time) error { return nil }

func (p *fileConn) Close() error { return p.spool.f.Close() }
