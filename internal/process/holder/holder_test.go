package holder_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/process/holder"
)

type question struct {
	N    int64
	Text string
}

type answer struct {
	N     int64
	Text  string
	Wrong string
}

func (a answer) Number() int64 { return a.N }

func (a answer) Err() error {
	if a.Wrong != "" {
		return errors.New(a.Wrong)
	}
	return nil
}

var errClosed = errors.New("closed")

// TestLink checks that answers find their requests in any order, that events come after the
// greeting, and that waiting requests return the link's error when the connection ends.
func TestLink(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30)) // longer than a socket's path may be
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	door, at, err := holder.Listen(dir, "sock")
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		serve(t, door)
	}()
	conn, err := holder.Dial(dir, at)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 8)
	l := holder.NewLink(conn, func(a answer) { events <- a.Text }, func() error { return errClosed })
	ask := func(ctx context.Context, text string) (answer, error) {
		return l.Ask(ctx, func(n int64) any { return question{n, text} })
	}
	late := make(chan answer)
	go func() {
		a, err := ask(context.Background(), "later")
		if err != nil {
			t.Error(err)
		}
		late <- a
	}()
	for _, want := range []string{"welcome", "later is queued"} {
		if got := <-events; got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	}
	if a, err := ask(context.Background(), "now"); err != nil || a.Text != "now" {
		t.Errorf("%+v %v", a, err)
	}
	if a := <-late; a.Text != "later" {
		t.Errorf("%+v", a)
	}
	if _, err := ask(context.Background(), "fail"); err == nil || err.Error() != "it failed" {
		t.Errorf("%v", err)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if _, err := ask(ctx, "silent"); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if _, err := ask(context.Background(), "hang up"); !errors.Is(err, errClosed) {
		t.Errorf("%v", err)
	}
	<-l.Lost()
	if err := l.Send(question{Text: "more"}); !errors.Is(err, errClosed) {
		t.Errorf("%v", err)
	}
	l.Close()
	<-served
	if none := holder.NewLink[answer](nil, nil, func() error { return errClosed }); !none.IsLost() || none.Send(question{}) != errClosed {
		t.Error("without a connection it is not lost")
	}
}

// serve answers one connection as a holder does.
func serve(t *testing.T, door net.Listener) {
	conn, err := door.Accept()
	if err != nil {
		t.Error(err)
		return
	}
	p := holder.NewPeer(conn)
	if err := p.Greet(func() any { return answer{Text: "welcome"} }); err != nil {
		t.Error(err)
	}
	var later int64
	holder.Requests(conn, func(q *question) {
		switch q.Text {
		case "later":
			later = q.N
			p.Send(answer{Text: "later is queued"})
		case "now":
			p.Send(answer{N: q.N, Text: "now"})
			p.Send(answer{N: later, Text: "later"})
		case "fail":
			p.Send(answer{N: q.N, Wrong: "it failed"})
		case "hang up":
			p.Close()
		}
	})
}
