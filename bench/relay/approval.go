package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// askVariable is an environment variable. If it is set, this program is a tool that requests
// approvals and prints the time at which it received each of them.
const askVariable = "RELAY_BENCH_ASK"

func ask() {
	in := bufio.NewReader(os.Stdin)
	for {
		fmt.Print("Proceed? [y/N] ")
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Printf("answered %q at=%d\n", line, time.Now().UnixNano())
	}
}

// approval measures the time from an app's approval until the tool in a terminal of hostd reads it.
func approval(n int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		if _, _, err := l.serve(); err != nil {
			return "", err
		}
		if err := os.WriteFile(l.path("token"), []byte("secret"), 0o600); err != nil {
			return "", err
		}
		if _, _, _, err := l.start([]string{askVariable + "=1"}, "hostd", "--server", l.url, "--host-id", "host_a", "--token-file", l.path("token"), "--state", l.path("state"), "--socket", l.path("sock"), "--root", l.dir); err != nil {
			return "", err
		}
		app, err := dial(l.socket() + "/ws/app?token=" + l.token)
		if err != nil {
			return "", err
		}
		defer app.CloseNow()
		if err := l.startAsking(); err != nil {
			return "", err
		}
		run := ""
		defer func() { // the tool would otherwise continue to run after hostd
			c := protocol.New(protocol.RunStop, time.Now(), protocol.Stop{Signal: "kill"})
			c.RunID = run
			if app.Write(context.Background(), websocket.MessageText, c.Append(nil)) == nil {
				_ = untilExited(app)
			}
		}()
		t := &times{}
		var tapped time.Time
		for len(t.all) < n {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			_, frame, err := app.Read(ctx)
			cancel()
			if err != nil {
				return "", fmt.Errorf("after %d approvals: %w", len(t.all), err)
			}
			e, refused := protocol.Parse(frame)
			if refused != nil {
				return "", refused
			}
			switch e.Type {
			case protocol.RunPermissionRequested:
				var data struct {
					RequestID string `json:"request_id"`
				}
				if err := json.Unmarshal(e.Data, &data); err != nil {
					return "", err
				}
				text, _ := json.Marshal(data)
				c := protocol.New(protocol.RunApprove, time.Now(), json.RawMessage(text))
				c.RunID, run = e.RunID, e.RunID
				tapped = time.Now()
				if err := app.Write(context.Background(), websocket.MessageText, c.Append(nil)); err != nil {
					return "", err
				}
			case protocol.RunOutput:
				if _, at, found := bytes.Cut(e.Data, []byte("at=")); found {
					var ns int64
					if _, err := fmt.Sscanf(string(at), "%d", &ns); err == nil {
						t.add(time.Unix(0, ns).Sub(tapped))
					}
				}
			}
		}
		return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", t.quantile(0.5), t.quantile(0.99)), nil
	}
}

// untilExited reads frames until the end of a run is reported.
func untilExited(app *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		_, frame, err := app.Read(ctx)
		if err != nil {
			return err
		}
		if e, refused := protocol.Parse(frame); refused == nil && e.Type == protocol.RunExited {
			return nil
		}
	}
}

func (l *lab) startAsking() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	local := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", l.path("sock"))
	}}}
	body, _ := json.Marshal(map[string]string{"tool": "ask", "cmd": "exec " + self, "cwd": l.dir})
	r, err := local.Post("http://hostd/runs", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusOK && r.StatusCode != http.StatusCreated {
		return fmt.Errorf("start a run: %s %s", r.Status, text)
	}
	return nil
}
