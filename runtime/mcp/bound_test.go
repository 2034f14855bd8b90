package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a listener whose connections are in-memory pipes, so that they can be used with virtual
// time.
type piped chan net.Conn

func (p piped) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p piped) Close() error   { close(p); return nil }
func (p piped) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowBody checks that the body of a request must arrive within ten seconds, whereas a response
// may take hours.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := piped(make(chan net.Conn))
		s := &http.Server{Handler: wholeBody(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			time.Sleep(5 * time.Hour)
			fmt.Fprintf(w, "%s %v %v", body, err, r.Context().Err())
		}))}
		done := make(chan error, 1)
		go func() { done <- s.Serve(l) }()
		ask := func(body string, rest time.Duration) (int, string) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			l <- theirs
			go func() {
				fmt.Fprintf(ours, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n%s", body[:3])
				time.Sleep(rest)
				_, _ = io.WriteString(ours, body[3:])
			}()
			resp, err := http.ReadResponse(bufio.NewReader(ours), nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode, strings.TrimSpace(string(text))
		}
		if status, text := ask("abcdef", 9*time.Second); status != 200 || text != "abcdef <nil> <nil>" {
			t.Error(status, text)
		}
		begun := time.Now()
		if status, text := ask("abcdef", time.Hour); status != 408 || time.Since(begun) != readTime {
			t.Error(status, text, time.Since(begun))
		}
		time.Sleep(2 * time.Hour) // after this time, the writer of the second request is closed
		_ = s.Shutdown(context.Background())
		<-done
	})
}

// TestLargeBody checks that a request with a too large body is refused.
func TestLargeBody(t *testing.T) {
	s := httptest.NewServer(wholeBody(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Error("a request with a too large body was handled") })))
	defer s.Close()
	resp, err := http.Post(s.URL, "application/json", io.LimitReader(zeros{}, maxBody+1))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error(resp.Status)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestConnectionsAreBounded checks that a connection beyond the limit is refused with a retry hint,
// and that a new connection is accepted after another one was closed.
func TestConnectionsAreBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = s.Serve(&bounded{Listener: l, free: make(chan struct{}, 2)}) }()
	defer s.Close()
	ask := func() (net.Conn, int) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil { // the connection was refused before the request was sent
			return c, http.StatusServiceUnavailable
		}
		return c, resp.StatusCode
	}
	one, a := ask()
	two, b := ask()
	defer two.Close()
	three, c := ask()
	defer three.Close()
	if a != 200 || b != 200 || c != 503 {
		t.Error(a, b, c)
	}
	_ = one.Close()
	for { // repeats until the server has received the request
		c, status := ask()
		_ = c.Close()
		if status == 200 {
			return
		}
	}
}
