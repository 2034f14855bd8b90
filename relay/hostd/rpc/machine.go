package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// tools contains the agents for which a machine reports which of them are installed.
var tools = []string{"aider", "claude", "codex", "concerto", "cursor-agent", "gemini", "goose", "iflow", "opencode"}

func (d *Dispatcher) info() protocol.MachineInfo {
	out := protocol.MachineInfo{MachineID: d.o.MachineID, PID: int64(os.Getpid()), OS: runtime.GOOS, Arch: runtime.GOARCH, Version: d.o.Version}
	if d.o.Seal != nil {
		out.SealInfo = d.o.Seal()
	}
	for _, tool := range tools {
		seen := protocol.ToolInfo{Tool: tool, Bin: tool}
		if path, err := procgroup.Find(tool, "", d.o.Environ); err == nil {
			seen.Bin, seen.OK = path, true
		}
		out.Tools = append(out.Tools, seen)
	}
	return out
}

func (d *Dispatcher) doctor(ctx context.Context) protocol.MachineDoctor {
	return protocol.MachineDoctor{MachineInfo: d.info(), Deps: append([]protocol.Dep{}, d.o.Doctor(ctx)...)}
}

func machineInfo(_ context.Context, d *Dispatcher, c *call, _ *Run) (any, error) {
	if c.Unsigned && d.o.Seals != nil && d.o.Seals() {
		return protocol.MachineInfo{MachineID: d.o.MachineID, Tools: []protocol.ToolInfo{}, SealInfo: d.o.Seal()}, nil
	}
	return d.info(), nil
}

func machineDoctor(ctx context.Context, d *Dispatcher, _ *call, _ *Run) (any, error) {
	return d.doctor(ctx), nil
}

// limits returns the limits of the machine in JSON.
func limits() json.RawMessage {
	return mustMarshal(map[string]int64{
		"frame_bytes": protocol.MaxFrame, "read_bytes": 1 << 20, "write_bytes": 1 << 20, "stream_bytes": maxStream, "open_requests": protocol.MaxOpenRequests,
		"rpc_seconds": int64(protocol.RPCTimeout.Seconds()), "bash_seconds": 600, "log_lines": maxLines, "log_bytes": maxLogBytes,
	})
}

func machineCapabilities(ctx context.Context, d *Dispatcher, _ *call, _ *Run) (any, error) {
	out := protocol.MachineCapabilities{MachineDoctor: d.doctor(ctx), Features: append([]string{}, d.o.Features...), Limits: limits(), LocalSocket: d.o.Socket}
	for i := range protocol.Messages {
		if m := &protocol.Messages[i]; m.Kind == protocol.RPC && m.Type != protocol.RPCSealed && (d.o.RemoteExec || !changesMachine(m)) {
			out.SupportedRPC = append(out.SupportedRPC, m.Type)
		}
	}
	slices.Sort(out.SupportedRPC)
	return out, nil
}

// Default and maximum numbers of lines and bytes of the log in a response.
const (
	defaultLines, maxLines       = 200, 2000
	defaultLogBytes, maxLogBytes = 200_000, 2_000_000
)

func tailLog(_ context.Context, d *Dispatcher, c *call, _ *Run) (any, error) {
	q, err := decode[protocol.TailLog](c)
	if err != nil {
		return nil, err
	}
	if d.o.LogFile == "" {
		return nil, errorf(protocol.NoLog, "hostd has no log file: start it with --log FILE")
	}
	n, most := int64(defaultLines), int64(defaultLogBytes)
	if q.Lines != nil {
		n = *q.Lines
	}
	if q.MaxBytes != nil {
		most = *q.MaxBytes
	}
	text, truncated, err := tail(d.o.LogFile, int(n), most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errorf(protocol.NoLog, "the log file %s does not exist", d.o.LogFile)
	}
	if err != nil {
		return nil, err
	}
	return protocol.LogTail{Path: d.o.LogFile, Text: cut(d.o.Redact.Text(text), int(most)), Truncated: truncated}, nil
}

// tail returns the last n lines of a file, but at most the last most bytes. truncated reports
// whether the file is longer.
func tail(file string, n int, most int64) (text string, truncated bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", false, err
	}
	from := max(0, info.Size()-most)
	b := make([]byte, info.Size()-from)
	k, err := f.ReadAt(b, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", false, err
	}
	b = b[:k]
	if from > 0 { // remove the incomplete first line
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
			b = b[i+1:]
		}
	}
	end := len(b)
	if end > 0 && b[end-1] == '\n' {
		end--
	}
	at := end
	for ; n > 0 && at >= 0; n-- {
		at = bytes.LastIndexByte(b[:at], '\n')
	}
	return strings.ToValidUTF8(string(b[at+1:]), "\ufffd"), from > 0, nil
}
