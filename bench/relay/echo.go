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

// echoVariable is an environment variable. If it is set, this program is a server that only
// forwards messages, and writes its URL to the file that the variable names.
const echoVariable = "RELAY_BENCH_ECHO"

// serveEcho runs a server that forwards the messages of hosts to all apps and acknowledges each
// message, like the relay. It neither stores nor checks messages.
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
		go func() { // the memory of the handler is released
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
				_ = a.Write(r.Context(), kind, frame) // the reader removes a closed connection
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
