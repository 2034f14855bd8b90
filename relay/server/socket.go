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
	// writeBuffer is what the kernel holds of a socket's frames: more would hide for long that
	// nobody reads.
	writeBuffer = 256 << 10
	// queueBytes is what waits to be written besides events, which wait in the store. One frame
	// may be longer.
	queueBytes = 1 << 20
	// farewell is how long the other end may take to answer a close; who was too slow may
	// take longer to read what is on its way.
	farewell, lateFarewell = 2 * time.Second, 30 * time.Second
)

// socket is a WebSocket. One goroutine reads it. Another writes it, while there is something
// to write: a socket on which nothing happens has no buffer and no second goroutine.
type socket struct {
	srv  *Server
	conn *websocket.Conn
	raw  net.Conn

	seen    atomic.Int64 // when the last frame came, in ns of the server's clock
	pinged  atomic.Int64 // when the last ping was sent
	writing atomic.Int64 // when the write began that has not ended; 0 when there is none
	closed  atomic.Bool  // nothing that comes is taken any more

	mu     sync.Mutex
	queue  [][]byte
	size   int
	pumps  bool // a goroutine writes
	kicked bool // there may be more to write
	code   int  // with which it is being closed; 0 when it is not
	why    string
	cut    *time.Timer

	bad   []int64 // when frames came that are none, in ns
	peer  peer
	proto atomic.Int64 // the protocol that it speaks
}

// peer is what a socket is: a host's or an app's.
type peer interface {
	// take takes a frame, in the goroutine that reads.
	take(e *protocol.Envelope)
	// more writes what there is besides the queue; false when there is no more.
	more() bool
	// gone is called once, when nothing more comes.
	gone()
	// swept is called now and then.
	swept(now time.Time)
}

// hijacked remembers the connection that is taken over.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
}

func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

// asksForSocket says whether a request asks for a WebSocket; who does not is told.
func asksForSocket(w http.ResponseWriter, r *http.Request) bool {
	if httpguard.IsUpgrade(r) {
		return true
	}
	w.Header().Set("Upgrade", "websocket")
	httpguard.Fail(w, &Failure{Code: protocol.BadMessage, Why: r.URL.Path + " is for WebSockets", Status: http.StatusUpgradeRequired})
	return false
}

// upgrade makes a request a WebSocket; nil when it cannot be, which was said. start goes on
// with it.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) *socket {
	h := &hijacked{ResponseWriter: w}
	x := &socket{srv: s}
	x.proto.Store(1)
	// Which pages may call was decided before.
	conn, err := websocket.Accept(h, r, &websocket.AcceptOptions{InsecureSkipVerify: true,
		OnPingReceived: func(context.Context, []byte) bool { x.sees(); return true },
		OnPongReceived: func(context.Context, []byte) { x.sees() }})
	if err != nil {
		return nil
	}
	x.conn, x.raw = conn, h.conn
	if tcp, ok := x.raw.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // else it is as the system has it
	}
	conn.SetReadLimit(protocol.MaxFrame)
	x.sees()
	return x
}

// start begins to read for a peer.
func (x *socket) start(p peer) {
	x.peer = p
	if !x.srv.sockets.add(x) {
		x.close(protocol.CloseRestart, "the server restarts")
	}
	go x.read()
}

func (x *socket) sees() { x.seen.Store(x.srv.clock.Now().UnixNano()) }

// read takes frames until there are none any more.
func (x *socket) read() {
	defer x.srv.sockets.wait.Done()
	defer x.srv.sockets.remove(x)
	defer x.peer.gone()
	defer func() {
		x.closed.Store(true)
		_ = x.conn.CloseNow() // it is closed already, or nobody is there
	}()
	for {
		kind, frame, err := x.conn.Read(context.Background())
		if err != nil {
			return
		}
		x.sees()
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
		x.peer.take(&e)
	case refusal.Close != 0:
		x.close(refusal.Close, refusal.Why)
	default:
		x.refuse(&e, refuse(refusal.Code, "%s", refusal.Why))
	}
}

// refuse says why a frame is not taken. Who sends too many that are none is sent away.
func (x *socket) refuse(e *protocol.Envelope, f *Failure) {
	d := protocol.ErrorData{Code: f.Code, Message: f.Why, Re: e.ID, RunID: e.RunID, Seq: e.Seq, RetryAfterMS: f.After.Milliseconds()}
	d.RequestID, d.InputID = idsOf(e)
	x.send(protocol.Failure, e, d)
	if f.Code != protocol.BadMessage {
		return
	}
	now := x.srv.clock.Now().UnixNano()
	kept := x.bad[:0]
	for _, at := range x.bad {
		if now-at < int64(time.Minute) {
			kept = append(kept, at)
		}
	}
	if x.bad = append(kept, now); len(x.bad) >= protocol.MaxBadMessages {
		x.close(protocol.ClosePolicy, "too many frames that are none")
	}
}

// send queues a message of the server that answers an envelope; re may be nil.
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
		x.close(protocol.CloseTooSlow, "too much waits to be read")
		return
	}
	x.kick()
}

// kick says that there may be something to write.
func (x *socket) kick() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.kicked = true
	if !x.pumps && !x.closed.Load() {
		x.pumps = true
		go x.pump()
	}
}

// pump writes what there is.
func (x *socket) pump() {
	for more := false; ; {
		x.mu.Lock()
		if len(x.queue) == 0 && !x.kicked && !more || x.closed.Load() {
			x.pumps = false
			code := x.code
			x.mu.Unlock()
			if code != 0 {
				x.bye()
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
		more = x.peer.more()
	}
}

// write writes a frame. It waits for who does not read, until sweep ends that.
func (x *socket) write(frame []byte) {
	if x.closed.Load() {
		return
	}
	x.writing.Store(max(x.srv.clock.Now().UnixNano(), 1))
	err := x.conn.Write(context.Background(), websocket.MessageText, frame)
	x.writing.Store(0)
	if err != nil && !x.closed.Swap(true) {
		_ = x.raw.Close() // who reads sees that it has ended
	}
}

// close ends the connection with a code. It does not wait for the other end. What is being
// written goes before it.
func (x *socket) close(code int, why string) {
	if x.closed.Swap(true) {
		return
	}
	within := farewell
	if code == protocol.CloseTooSlow {
		within = lateFarewell
	}
	x.srv.sockets.wait.Add(1)
	x.mu.Lock()
	x.code, x.why = code, why
	x.cut = time.AfterFunc(within, func() { _ = x.raw.Close() })
	pumps := x.pumps
	x.mu.Unlock()
	if !pumps {
		go x.bye()
	}
}

// bye says why the connection ends, and waits for the other end to agree.
func (x *socket) bye() {
	defer x.srv.sockets.wait.Done()
	_ = x.conn.Close(websocket.StatusCode(x.code), reason(x.why)) // who is not there hears nothing
	x.cut.Stop()
}

// reason is a text that a close frame can hold.
func reason(why string) string {
	const most = 120
	if len(why) <= most {
		return why
	}
	return why[:most]
}
