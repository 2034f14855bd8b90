package host_test

import (
	"context"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host"
)

// asking is the script of a host that asks twenty questions one after another. Its result is the
// number of answers that it read.
const asking = `
while read -r prompt; do
	i=0
	while [ $i -lt 20 ]; do
		echo '{"type":"question","id":'$i',"question":"go on?"}'
		read -r answer || exit 1
		case "$answer" in *'"answer_to":'$i',"value":"yes"'*) i=$((i+1));; *) exit 2;; esac
	done
	echo '{"type":"result","text":"'$i'"}'
done`

// TestCrowd runs a hundred exchanges concurrently, each with its own process. Every question must
// be answered, a process may use three file descriptors, and after Close no descriptor or goroutine
// may be left.
func TestCrowd(t *testing.T) {
	const many = 100
	files, routines := descriptors(t), runtime.NumGoroutine()
	h := host.New(host.Options{Environ: os.Environ(), Configs: []host.Config{{
		Name: "crowd", Connector: "crowd", Command: "sh", Args: []string{"-c", asking}, OutputFormat: "json", Instances: many, Timeout: 300,
	}}})
	ctx := context.Background()
	perform := func(r effect.Request) effect.Result {
		result, err := h.Perform(ctx, r)
		if err != nil {
			t.Errorf("%s: %v", r.Kind(), err)
			runtime.Goexit()
		}
		return result
	}
	var group sync.WaitGroup
	opened, measured := make(chan struct{}, many), make(chan struct{})
	for range many {
		group.Go(func() {
			id := perform(&effect.ExchangeOpen{Host: "crowd", Prompt: "go"}).(*effect.ExchangeOpened).ID
			opened <- struct{}{}
			<-measured
			defer perform(&effect.ExchangeClose{ID: id})
			for {
				for _, m := range perform(&effect.ExchangeNext{ID: id}).(*effect.ExchangeMessages).Messages {
					if m.Type == "result" {
						if text, _ := m.Payload.Map().GetString("text"); text.AsString() != "20" {
							t.Errorf("the host read %s answers, want 20", text.AsString())
						}
						return
					}
					perform(&effect.ExchangeReply{ID: id, InReplyTo: m.Type, AnswerTo: m.ID, Value: []byte(`"yes"`)})
				}
			}
		})
	}
	for range many {
		<-opened
	}
	if got := descriptors(t) - files; got > 3*many+8 { // the network poller also uses some
		t.Errorf("%d hosts use %d file descriptors, want at most three each", many, got)
	}
	close(measured)
	group.Wait()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
	for until := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > routines+1 && time.Now().Before(until); {
		runtime.Gosched()
	}
	if got := descriptors(t) - files; got > 8 {
		t.Errorf("%d file descriptors are left after Close, want at most 8", got)
	}
	if got := runtime.NumGoroutine(); got > routines+1 { // one goroutine belongs to package os/signal
		t.Errorf("%d goroutines after Close, want at most one more than the %d before", got, routines)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(all)
}
