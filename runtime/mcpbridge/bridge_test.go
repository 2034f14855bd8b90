package mcpbridge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestOrder checks that the lines of a client arrive in order and that the answers are written in
// order. A client that closes its sending side must still receive all answers.
func TestOrder(t *testing.T) {
	var b *Bridge
	opened, left := make(chan struct{}), make(chan int, 1)
	b, err := Open(Options{Path: Path(), OnDisconnect: func(client int) { left <- client }, OnLine: func(client int, line []byte) {
		<-opened
		b.Send(client, append([]byte("to "), line...))
	}})
	if err != nil {
		t.Fatal(err)
	}
	close(opened)
	dir := filepath.Dir(b.o.Path)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory of the bridge = %v (error %v), want mode 700", info, err)
	}
	conn, err := net.Dial("unix", b.o.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const asked = 3000
	go func() {
		for i := range asked {
			io.WriteString(conn, fmt.Sprintln(i))
		}
		conn.(*net.UnixConn).CloseWrite()
	}()
	in, i := bufio.NewScanner(conn), 0
	for ; in.Scan(); i++ {
		if in.Text() != fmt.Sprint("to ", i) {
			t.Fatalf("answer %d = %s", i, in.Text())
		}
	}
	if i != asked || in.Err() != nil {
		t.Errorf("received %d answers (error %v)", i, in.Err())
	}
	if client := <-left; client != 1 {
		t.Errorf("client %d has disconnected, want client 1", client)
	}
	b.End()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory of the bridge was not removed: %v", err)
	}
}
