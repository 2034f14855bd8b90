package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

func (l *lab) socket() string { return strings.Replace(l.url, "http", "ws", 1) }

// dial opens a WebSocket. If the server rejects it, the error contains the server's text.
func dial(url string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(protocol.MaxFrame)
	return c, nil
}

// host is a connected host that has one run.
type host struct {
	id, run string
	c       *websocket.Conn
	seq     int64

	seals *sealing // nil if the host seals nothing
	chain seal.Chain
	head  time.Time // of the last head
}

// newHost connects a host and sends hello.
func (l *lab) newHost(n int) (*host, error) {
	h := &host{id: fmt.Sprintf("host_%d", n), run: fmt.Sprintf("run_%d", n)}
	return h, l.connect(h)
}

func (l *lab) connect(h *host) (err error) {
	if h.c, err = dial(l.socket() + "/ws/host?host_id=" + h.id + "&host_token=secret" + h.id); err != nil {
		return err
	}
	hello := protocol.New(protocol.Hello, time.Now(), json.RawMessage(fmt.Sprintf(`{"protocol":2,"agent":"bench/1","instance":"i%s","epoch":1,"runs":[{"run_id":%q,"last_seq":%d}]}`, h.id, h.run, h.seq)))
	return h.c.Write(context.Background(), websocket.MessageText, hello.Append(nil))
}

func (h *host) event(typ, data string) error {
	h.seq++
	e := protocol.New(typ, time.Now(), json.RawMessage(data))
	e.RunID, e.Seq = h.run, h.seq
	all := []protocol.Envelope{e}
	if h.seals != nil {
		var err error
		if all, err = h.sealEvent(e); err != nil {
			return err
		}
	}
	for i := range all {
		if err := h.c.Write(context.Background(), websocket.MessageText, all[i].Append(nil)); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) begin() error {
	return h.event(protocol.RunStarted, `{"tool":"bench","cwd":"/","command":"bench"}`)
}

// output sends a line of output that contains the time at.
func (h *host) output(at time.Time) error {
	return h.event(protocol.RunOutput, fmt.Sprintf(`{"stream":"stdout","text":"%d a line of what an agent writes while it works\n"}`, at.UnixNano()))
}

// acks reads acknowledgements until the connection ends.
func (h *host) acks(onAck func(last int64)) {
	for {
		_, frame, err := h.c.Read(context.Background())
		if err != nil {
			return
		}
		var e struct {
			Type string
			Data struct {
				LastSeq int64 `json:"last_seq"`
			}
		}
		if json.Unmarshal(frame, &e) == nil && e.Type == protocol.RunAck {
			onAck(e.Data.LastSeq)
		}
	}
}

// ackOf returns the acknowledgement in a frame, or nil if there is none.
func ackOf(frame []byte) []byte {
	var e struct {
		RunID string `json:"run_id"`
		Seq   int64  `json:"seq"`
	}
	_ = json.Unmarshal(frame, &e)
	data, _ := json.Marshal(protocol.Ack{RunID: e.RunID, LastSeq: e.Seq})
	a := protocol.New(protocol.RunAck, time.Now(), json.RawMessage(data))
	return a.Append(nil)
}

// sent returns the time at which an output was sent. ok is false if the frame is not an output.
func sent(frame []byte) (at time.Time, ok bool) {
	_, text, found := strings.Cut(string(frame), `"text":"`)
	if !found {
		return at, false
	}
	var ns int64
	_, err := fmt.Sscanf(text, "%d", &ns)
	return time.Unix(0, ns), err == nil
}

// times collects durations. It is safe for concurrent use.
type times struct {
	mu  sync.Mutex
	all []time.Duration
}

func (t *times) add(d time.Duration) {
	t.mu.Lock()
	t.all = append(t.all, d)
	t.mu.Unlock()
}

// quantile returns a quantile in milliseconds, or NaN without data.
func (t *times) quantile(q float64) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) == 0 {
		return math.NaN()
	}
	slices.Sort(t.all)
	return float64(t.all[min(int(q*float64(len(t.all))), len(t.all)-1)].Microseconds()) / 1e3
}
