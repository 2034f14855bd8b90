package server

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

const (
	// writeBuffer is the size of the kernel's send buffer. With a larger buffer, it takes longer to
	// detect a client that does not read.
	writeBuffer = 256 << 10
	// queueBytes limits the size of the frames in a queue. A single frame may be larger. Events are
	// not queued, but read from the store when there is room.
	queueBytes = 1 << 20
	// closeTimeout is the time in which the peer must answer a close frame. slowCloseTimeout is
	// that time for a peer that must first read buffered frames.
	closeTimeout, slowCloseTimeout = 2 * time.Second, 30 * time.Second
)

// socket is a WebSocket. One goroutine reads it. Another writes while there is something to write,
// so an idle socket has neither a buffer nor a second goroutine.
type socket struct {
	srv  *Server
	conn *websocket.Conn
	raw  net.Conn

	seen    atomic.Int64 // time of the last received frame, in ns of the server's clock
	pinged  atomic.Int64 // time of the last ping, in ns
	writing atomic.Int64 // start of the current write, in ns; 0 if no write is in progress
	closed  atomic.Bool  // set when the socket closes; later frames are discarded

	mu     sync.Mutex
	queue  [][]byte
	size   int
	pumps  bool // the writing goroutine is running
	kicked bool // there may be more to write
	code   int  // the close code; 0 while the socket is open
	why    string
	cut    *time.Timer

	bad   []int64 // times of the invalid frames, in ns
	peer  peer
	proto atomic.Int64 // the peer's protocol version
}

// peer handles the frames of a machine or an app.
type peer interface {
	// handle handles a frame. It is called on the reading goroutine.
	handle(e *protocol.Envelope)
	// writeMore writes messages that are not in the queue, and reports whether it wrote any.
	writeMore() bool
	// closed is called once, after the last frame was handled.
	closed()
	// checkTimeouts is called periodically.
	checkTimeouts(now time.Time)
}

// hijacked is a ResponseWriter that records the hijacked connection.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

// requireUpgrade reports whether a request upgrades to a WebSocket. If it does not, requireUpgrade
// sends an error response.
func requireUpgrade(w http.ResponseWriter, r *http.Request) bool {
	if httpguard.IsUpgrade(r) {
		return true
	}
	w.Header().Set("Upgrade", "websocket")
	httpguard.Fail(w, &Failure{Code: protocol.BadMessage, Why: r.URL.Path + " is for WebSockets", Status: http.StatusUpgradeRequired})
	return false
}

// upgrade upgrades a request to a WebSocket. If that fails, it sends an error response and returns
// nil. The caller must call start on the socket.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) *socket {
	if !s.sockets.begin() {
		httpguard.Fail(w, &Failure{Code: protocol.Internal, Why: "the server is restarting", Status: http.StatusServiceUnavailable})
		return nil
	}
	h := &hijacked{ResponseWriter: w}
	x := &socket{srv: s}
	x.proto.Store(1)
	// httpguard has already checked the origin.
	conn, err := websocket.Accept(h, r, &websocket.AcceptOptions{InsecureSkipVerify: true,
		OnPingReceived: func(context.Context, []byte) bool { x.touch(); return true },
		OnPongReceived: func(context.Context, []byte) { x.touch() }})
	if err != nil {
		s.sockets.wait.Done()
		return nil
	}
	x.conn, x.raw = conn, h.conn
	if tcp, ok := x.raw.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // best effort
	}
	conn.SetReadLimit(protocol.MaxFrame)
	x.touch()
	return x
}

// start starts the goroutine that reads the peer's frames.
func (x *socket) start(p peer) {
	x.peer = p
	if !x.srv.sockets.add(x) {
		x.close(protocol.CloseRestart, "the server is restarting")
	}
	go x.read()
}

func (x *socket) touch() { x.seen.Store(x.srv.clock.Now().UnixNano()) }

// read reads frames until the connection closes.
func (x *socket) read() {
	defer x.srv.sockets.wait.Done()
	defer x.srv.sockets.remove(x)
	defer x.peer.closed()
	defer func() {
		x.closed.Store(true)
		_ = x.conn.CloseNow() // best effort
	}()
	for {
		kind, frame, err := x.conn.Read(context.Background())
		if err != nil {
			return
		}
		x.touch()
		switch {
		case x.closed.Load():
		case kind != websocket.MessageText:
			x.close(protocol.CloseBinary, "a frame must be text")
		default:
			x.frame(frame)
		}
	}
}

func (x *socket) frame(frame []byte) {
	e, refusal := protocol.Parse(frame)
	switch {
	case refusal == nil:
		x.peer.handle(&e)
	case refusal.Close != 0:
		x.close(refusal.Close, refusal.Why)
	default:
		x.refuse(&e, refuse(refusal.Code, "%s", refusal.Why))
	}
}

// refuse sends an error. It disconnects a peer that sends too many invalid frames.
func (x *socket) refuse(e *protocol.Envelope, f *Failure) {
	d := protocol.ErrorData{Code: f.Code, Message: f.Why, Re: e.ID, RunID: e.RunID, Seq: e.Seq, RetryAfterMS: f.After.Milliseconds()}
	d.RequestID, d.InputID = idsOf(e)
	x.send(protocol.Failure, e, d)
	if f.Code != protocol.BadMessage {
		return
	}
	now := x.srv.clock.Now().UnixNano()
	recent := x.bad[:0]
	for _, at := range x.bad {
		if now-at < int64(time.Minute) {
			recent = append(recent, at)
		}
	}
	if x.bad = append(recent, now); len(x.bad) >= protocol.MaxBadMessages {
		x.close(protocol.ClosePolicy, "too many invalid frames")
	}
}

// send queues a message. If re is not nil, the message is an answer to that envelope.
func (x *socket) send(typ string, re *protocol.Envelope, data any) {
	e := protocol.New(typ, x.srv.clock.Now(), data)
	if re != nil {
		e.Re = re.ID
		e.RunID = re.RunID
	}
	x.push(e.Append(nil))
}

// push queues a frame.
func (x *socket) push(frame []byte) {
	x.mu.Lock()
	full := x.size > 0 && x.size+len(frame) > queueBytes
	if !full {
		x.queue, x.size = append(x.queue, frame), x.size+len(frame)
	}
	x.mu.Unlock()
	if full {
		x.close(protocol.CloseTooSlow, "the peer reads too slowly: its queue is full")
		return
	}
	x.kick()
}

// kick starts the writing goroutine if it is not running.
func (x *socket) kick() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.kicked = true
	if !x.pumps && !x.closed.Load() {
		x.pumps = true
		go x.writeLoop()
	}
}

// writeLoop writes until there is nothing more to write.
func (x *socket) writeLoop() {
	for more := false; ; {
		x.mu.Lock()
		if len(x.queue) == 0 && !x.kicked && !more || x.closed.Load() {
			x.pumps = false
			code := x.code
			x.mu.Unlock()
			if code != 0 {
				x.sendClose()
			}
			return
		}
		queue := x.queue
		x.queue, x.kicked = nil, false
		x.mu.Unlock()
		for _, frame := range queue {
			x.write(frame)
			x.mu.Lock()
			x.size -= len(frame)
			x.mu.Unlock()
		}
		more = x.peer.writeMore()
	}
}

// write writes a frame. It blocks while the peer does not read, until sweep closes the connection.
func (x *socket) write(frame []byte) {
	if x.closed.Load() {
		return
	}
	x.writing.Store(max(x.srv.clock.Now().UnixNano(), 1))
	err := x.conn.Write(context.Background(), websocket.MessageText, frame)
	x.writing.Store(0)
	if err != nil && !x.closed.Swap(true) {
		_ = x.raw.Close() // makes the reading goroutine stop
	}
}

// close closes the connection with a code after the current write. It does not wait for the peer.
func (x *socket) close(code int, why string) {
	if x.closed.Swap(true) {
		return
	}
	within := closeTimeout
	if code == protocol.CloseTooSlow {
		within = slowCloseTimeout
	}
	x.srv.sockets.wait.Add(1)
	x.mu.Lock()
	x.code, x.why = code, why
	x.cut = time.AfterFunc(within, func() { _ = x.raw.Close() })
	pumps := x.pumps
	x.mu.Unlock()
	if !pumps {
		go x.sendClose()
	}
}

// sendClose sends a close frame and waits for the peer's close frame.
func (x *socket) sendClose() {
	defer x.srv.sockets.wait.Done()
	_ = x.conn.Close(websocket.StatusCode(x.code), reason(x.why)) // best effort
	x.cut.Stop()
}

// reason shortens a text to the maximum length in a close frame.
func reason(why string) string {
	const most = 120
	if len(why) <= most {
		return why
	}
	return why[:most]
}
