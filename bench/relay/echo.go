package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// With this variable the program is the bare server, and writes its URL to the file.
const echoVariable = "RELAY_BENCH_ECHO"

// serveEcho passes what hosts send on to all apps, and answers each message of a host's
// with an ack as the relay's: all that a relay does but keeping and checking.
func serveEcho(file string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var mu sync.Mutex
	apps := map[*websocket.Conn]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc("/ws/app", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		idle := strings.Contains(r.URL.RawQuery, "follow=none")
		mu.Lock()
		if !idle {
			apps[c] = true
		}
		mu.Unlock()
		go func() { // so that what the handler holds is given back
			_, _, _ = c.Read(context.Background())
			mu.Lock()
			delete(apps, c)
			mu.Unlock()
		}()
	})
	mux.HandleFunc("/ws/host", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for {
			kind, frame, err := c.Read(r.Context())
			if err != nil {
				return
			}
			mu.Lock()
			for a := range apps {
				_ = a.Write(r.Context(), kind, frame) // one that has ended is taken out by its reader
			}
			mu.Unlock()
			if c.Write(r.Context(), kind, ackOf(frame)) != nil {
				return
			}
		}
	})
	if err := os.WriteFile(file, []byte("http://"+l.Addr().String()), 0o600); err != nil {
		panic(err)
	}
	panic(http.Serve(l, mux))
}
