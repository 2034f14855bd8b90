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

// TestLink checks that each request receives its own answer, in whatever order the answers arrive,
// and that events arrive after the greeting. When the connection ends, waiting requests must return
// the link's error.
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
			t.Errorf("event = %q, want %q", got, want)
		}
	}
	if a, err := ask(context.Background(), "now"); err != nil || a.Text != "now" {
		t.Errorf("answer to now = %+v, error %v", a, err)
	}
	if a := <-late; a.Text != "later" {
		t.Errorf("answer to later = %+v", a)
	}
	if _, err := ask(context.Background(), "fail"); err == nil || err.Error() != "it failed" {
		t.Errorf("error of fail = %v, want it failed", err)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if _, err := ask(ctx, "silent"); !errors.Is(err, why) {
		t.Errorf("error after cancelling = %v, want the cause", err)
	}
	if _, err := ask(context.Background(), "hang up"); !errors.Is(err, errClosed) {
		t.Errorf("error after the holder has hung up = %v, want errClosed", err)
	}
	<-l.Lost()
	if err := l.Send(question{Text: "more"}); !errors.Is(err, errClosed) {
		t.Errorf("Send on a lost link returns %v, want errClosed", err)
	}
	l.Close()
	<-served
	if none := holder.NewLink[answer](nil, nil, func() error { return errClosed }); !none.IsLost() || none.Send(question{}) != errClosed {
		t.Error("a link without a connection is not lost")
	}
}

// serve accepts one connection and plays a holder.
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
