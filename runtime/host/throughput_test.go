package host_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/host"
)

const floodLines = 200000

// flooding writes a file of one-way messages. It returns a shell command that sends the file after
// each prompt, as fast as the pipe allows, and the file's size in bytes.
func flooding(b *testing.B) (command string, args []string, size int64) {
	b.Helper()
	var all bytes.Buffer
	for i := range floodLines {
		fmt.Fprintf(&all, `{"type":"progress","message":"working on it, please wait","percent":%d,"i":%d}`+"\n", i%100, i)
	}
	all.WriteString(`{"type":"result","text":"end"}` + "\n")
	file := filepath.Join(b.TempDir(), "flood.ndjson")
	if err := os.WriteFile(file, all.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	return "sh", []string{"-c", "while read -r line; do cat '" + file + "'; done"}, int64(all.Len())
}

// BenchmarkOneWay measures one-way messages through an exchange.
func BenchmarkOneWay(b *testing.B) {
	command, args, size := flooding(b)
	h := host.New(host.Options{Environ: os.Environ(), Configs: []host.Config{{
		Name: "flood", Connector: "flood", Command: command, Args: args, OutputFormat: "json",
	}}})
	ctx := context.Background()
	defer h.Close(ctx)
	b.SetBytes(size)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		res, err := h.Perform(ctx, &effect.ExchangeOpen{Host: "flood", Prompt: "go"})
		if err != nil {
			b.Fatal(err)
		}
		id := res.(*effect.ExchangeOpened).ID
		for last := ""; last != "result"; {
			res, err := h.Perform(ctx, &effect.ExchangeNext{ID: id})
			if err != nil {
				b.Fatal(err)
			}
			msgs := res.(*effect.ExchangeMessages).Messages
			n += len(msgs)
			last = msgs[len(msgs)-1].Type
		}
		if _, err := h.Perform(ctx, &effect.ExchangeClose{ID: id}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkOneWayBare measures the same messages with only a pipe, a line reader and the decoder.
func BenchmarkOneWayBare(b *testing.B) {
	command, args, size := flooding(b)
	cmd := exec.Command(command, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReaderSize(out, 64<<10)
	b.SetBytes(size)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := io.WriteString(in, "go\n"); err != nil {
			b.Fatal(err)
		}
		for last := ""; last != "result"; n++ {
			line, err := r.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			typ, _, _, err := value.ParseMessage(line)
			if err != nil {
				b.Fatal(err)
			}
			last = typ
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
	in.Close()
	cmd.Wait()
}

// BenchmarkRoundTrip measures a question and its answer.
func BenchmarkRoundTrip(b *testing.B) {
	h := host.New(host.Options{Environ: os.Environ(), Configs: []host.Config{{
		Name: "asks", Connector: "asks", Command: os.Args[0], OutputFormat: "json", Env: map[string]string{"ASKS": "1"},
	}}})
	ctx := context.Background()
	defer h.Close(ctx)
	res, err := h.Perform(ctx, &effect.ExchangeOpen{Host: "asks", Prompt: "go"})
	if err != nil {
		b.Fatal(err)
	}
	id := res.(*effect.ExchangeOpened).ID
	for b.Loop() {
		res, err := h.Perform(ctx, &effect.ExchangeNext{ID: id})
		if err != nil {
			b.Fatal(err)
		}
		m := res.(*effect.ExchangeMessages).Messages[0]
		if _, err := h.Perform(ctx, &effect.ExchangeReply{ID: id, InReplyTo: m.Type, AnswerTo: m.ID, Value: []byte(`"yes"`)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRoundTripBare measures a question and its answer with only the pipes and the decoder.
func BenchmarkRoundTripBare(b *testing.B) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ASKS=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReaderSize(out, 64<<10)
	io.WriteString(in, "go\n")
	for b.Loop() {
		line, err := r.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		typ, id, _, err := value.ParseMessage(line)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := fmt.Fprintf(in, `{"type":"response","in_reply_to":"%s","answer_to":%s,"value":"yes"}`+"\n", typ, id); err != nil {
			b.Fatal(err)
		}
	}
	in.Close()
	cmd.Wait()
}

// asks is the host of the round-trip benchmarks. It sends a question for each line that it reads.
func asks() {
	r := bufio.NewReader(os.Stdin)
	for {
		if _, err := r.ReadSlice('\n'); err != nil {
			return
		}
		os.Stdout.WriteString(`{"type":"question","id":"q1","question":"update the tests too?"}` + "\n")
	}
}
