// Command relay measures the performance of the relay's server process. It compares the relay with
// a server that uses the same WebSocket library and only forwards messages.
//
//	go run ./bench/relay                     all measurements
//	go run ./bench/relay -only latency,idle  only these; -list prints the names
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// row is a measurement of the table, with the limit for its result.
type row struct {
	name, what string
	bound      string
	measure    func(*lab) (string, error)
}

var rows = []row{
	{"start", "size of the stripped binary; time to start on an existing database", "≤ 25 MB, ≤ 100 ms", started},
	{"latency", "200 events/s, host to app", "p50 ≤ 1.5 ms, p99 ≤ 10 ms", paced(200, 0)},
	{"crowded", "200 events/s, host to app, with 9,000 idle sockets", "p99 ≤ 15 ms", paced(200, 9_000)},
	{"fast", "2,000 events/s, host to app", "p99 ≤ 20 ms, no growth", paced(2_000, 0)},
	{"idle", "10,000 idle app sockets", "≤ 20 kB each", idle(10_000)},
	{"fleet", "1,000 hosts, 10 events/s each", "kept up, ack p99 ≤ 50 ms", fleet(1_000, 10)},
	{"replay", "100,000 spooled events", "≥ 20,000/s", replay(100_000)},
	{"sealed", "200 events/s, sealed by the host and opened by the app", "≤ 1.2 times plain", sealedPaced(200)},
	{"spool", "100,000 events of 250 writers in hostd's spool", "≥ 20,000/s sealed", sealedSpool(100_000)},
	{"history", "a page of 200 from 1,000,000 events; time to start on their database", "≤ 10 ms, ≤ 100 ms", history(1_000_000)},
	{"replicas", "200 events/s, three servers on PostgreSQL, with 9,000 idle sockets", "p99 ≤ 25 ms; after one is killed: no event lost or duplicated, silence ≤ 5 s", several(200, 9_000)},
	{"storm", "1,000 hosts reconnect, 10 events each", "≤ 10 s", storm(1_000, 10)},
	{"run", "cost of a run with 20,000 emits, with a relay relative to without", "≤ 1.03", reporting(25)},
	{"page", "the page in a browser", "usable ≤ 1,000 ms; seen p99 ≤ 100 ms", page},
	{"approval", "from the decision in an app to the text in the terminal", "p99 ≤ 20 ms", approval(50)},
}

func main() {
	if at := os.Getenv(echoVariable); at != "" {
		serveEcho(at)
		return
	}
	if os.Getenv(askVariable) != "" {
		ask()
		return
	}
	only := flag.String("only", "", "measure only these comma-separated `NAMES`")
	list := flag.Bool("list", false, "list the names of the measurements")
	length := flag.Duration("for", 10*time.Second, "duration of each measurement at a fixed rate")
	flag.Parse()
	l := &lab{length: *length}
	failed := false
	for _, r := range rows {
		switch {
		case *list:
			fmt.Printf("%-10s %s\n", r.name, r.what)
			continue
		case *only != "" && !strings.Contains(","+*only+",", ","+r.name+","):
			continue
		}
		text, err := l.one(r)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", r.name, err)
			failed = true
			continue
		}
		fmt.Printf("| %s | %s | %s |\n", r.what, text, r.bound)
	}
	if failed {
		os.Exit(1)
	}
}
