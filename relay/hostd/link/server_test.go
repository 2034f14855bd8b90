package link_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/faultproxy"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// TestServerOverFaultyNetwork connects hostd to the relay's server over a network that duplicates
// frames and cuts connections. Each event must be stored once and in order, and the spool must be
// empty at the end.
func TestServerOverFaultyNetwork(t *testing.T) {
	const events = 400
	r := servertest.StartNow(t)
	proxy, err := faultproxy.New(strings.TrimPrefix(r.URL, "http://"), faultproxy.Random(7, faultproxy.Odds{faultproxy.Duplicate: 300, faultproxy.Delay: 50, faultproxy.Cut: 100}))
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	h := connect(t, proxy.URL(), nil, func(s *spool.Spool) {
		for i := range events / 2 {
			outputs(t, s, "run_a", fmt.Sprint(i+1))
		}
	})
	for i := range events / 2 {
		h.output("run_a", fmt.Sprint(events/2+i+1))
	}
	deadline := time.After(2 * time.Minute)
	for {
		if run, _ := h.spool.Run("run_a"); run.Acked == events {
			break
		}
		select {
		case <-deadline:
			run, _ := h.spool.Run("run_a")
			t.Fatalf("timeout: run = %+v, link = %+v", run, h.link.State())
		case <-time.After(10 * time.Millisecond): // poll again
		}
	}
	all, err := r.Store.Events(context.Background(), "run_a", 0, 2*events)
	if err != nil || len(all) != events {
		t.Fatalf("number of stored events = %d, error = %v", len(all), err)
	}
	for i, e := range all {
		if e.Seq != int64(i+1) || !strings.Contains(string(e.Data), fmt.Sprintf(`"text":"%d"`, i+1)) {
			t.Fatalf("event %d = %s", e.Seq, e.Data)
		}
	}
}
