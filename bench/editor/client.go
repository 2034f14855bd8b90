package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// client plays an editor with one server. It is told of mistakes by the server, without asking. The first
// error stays, and ends what is waited for.
type client struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	from    chan message
	uri     string
	version int
	id      int
	err     error
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// silence is how long a server may say nothing that is waited for.
const silence = 2 * time.Minute

func start(dir string, command ...string) (*client, error) {
	c := &client{cmd: exec.Command(command[0], command[1:]...), from: make(chan message, 1000)}
	c.cmd.Dir, c.cmd.Stderr = dir, os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.in = in
	go c.read(bufio.NewReader(out))
	_, err = c.ask("initialize", map[string]any{
		"processId": os.Getpid(), "rootUri": "file://" + dir,
		"workspaceFolders": []any{map[string]any{"uri": "file://" + dir, "name": "project"}},
		"capabilities": map[string]any{
			"textDocument": map[string]any{"publishDiagnostics": map[string]any{"versionSupport": true}, "completion": map[string]any{"completionItem": map[string]any{"snippetSupport": true}}},
			"workspace":    map[string]any{"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true}, "workspaceEdit": map[string]any{"documentChanges": true}},
		},
		"initializationOptions": map[string]any{"diagnosticsDelay": "20ms"}, // gopls waits for a second by itself, concerto lsp 20 ms
	})
	if err != nil {
		c.end()
		return nil, err
	}
	c.notify("initialized", map[string]any{})
	return c, nil
}

// end ends the server, as an editor does.
func (c *client) end() {
	if c.err == nil {
		if _, err := c.ask("shutdown", nil); err == nil {
			c.notify("exit", nil)
		}
	}
	c.in.Close()
	_ = c.cmd.Wait()
}

func (c *client) failed() error { return c.err }

func (c *client) read(r *bufio.Reader) {
	defer close(c.from)
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			return
		}
		n, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m message
		if json.Unmarshal(body, &m) == nil {
			c.from <- m
		}
	}
}

func (c *client) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	body, err := json.Marshal(m)
	if err == nil {
		_, err = fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	if err != nil && c.err == nil {
		c.err = err
	}
}

func (c *client) notify(method string, params any) {
	c.send(map[string]any{"method": method, "params": params})
}

// next gives what the server says until wanted has it; what it asks is answered.
func (c *client) next(wanted func(message) bool) {
	limit := time.After(silence)
	for c.err == nil {
		select {
		case m, ok := <-c.from:
			switch {
			case !ok:
				c.err = fmt.Errorf("the server has ended")
			case m.Method != "" && m.ID != nil:
				var result any
				if m.Method == "workspace/configuration" {
					result = []any{map[string]any{"diagnosticsDelay": "20ms"}}
				}
				c.send(map[string]any{"id": m.ID, "result": result})
			case wanted(m):
				return
			}
		case <-limit:
			c.err = fmt.Errorf("the server says nothing for %s", silence)
		}
	}
}

func (c *client) ask(method string, params any) (result json.RawMessage, err error) {
	c.id++
	id := strconv.Itoa(c.id)
	c.send(map[string]any{"id": c.id, "method": method, "params": params})
	c.next(func(m message) bool {
		if m.Method != "" || string(m.ID) != id {
			return false
		}
		if m.Error != nil {
			err = fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		result = m.Result
		return true
	})
	if c.err != nil {
		err = c.err
	}
	return result, err
}

func (c *client) open(path, language, text string) {
	c.uri, c.version = "file://"+path, 1
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": c.uri, "languageId": language, "version": 1, "text": text}})
}

// change replaces n bytes of the text at a place.
func (c *client) change(text string, at, n int, with string) {
	c.version++
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": c.uri, "version": c.version},
		"contentChanges": []any{map[string]any{"range": map[string]any{"start": position(text, at), "end": position(text, at+n)}, "text": with}},
	})
}

// position is a place in an ASCII text.
func position(text string, at int) map[string]any {
	before := text[:at]
	return map[string]any{"line": strings.Count(before, "\n"), "character": at - strings.LastIndex(before, "\n") - 1}
}

// await waits until the open file's mistakes in a version are told, and gives how many they are.
func (c *client) await(version int) (mistakes int) {
	c.next(func(m message) bool {
		var p struct {
			URI         string            `json:"uri"`
			Version     int               `json:"version"`
			Diagnostics []json.RawMessage `json:"diagnostics"`
		}
		if m.Method != "textDocument/publishDiagnostics" || json.Unmarshal(m.Params, &p) != nil || p.URI != c.uri || p.Version < version {
			return false
		}
		mistakes = len(p.Diagnostics)
		return true
	})
	return mistakes
}

func (c *client) complete(text string, at int) (items int, err error) {
	result, err := c.ask("textDocument/completion", map[string]any{"textDocument": map[string]any{"uri": c.uri}, "position": position(text, at)})
	if err != nil {
		return 0, err
	}
	var list struct{ Items []json.RawMessage }
	if json.Unmarshal(result, &list) != nil {
		return 0, json.Unmarshal(result, &list.Items)
	}
	return len(list.Items), nil
}

func (c *client) rename(text string, at int, to string) (edits int, err error) {
	result, err := c.ask("textDocument/rename", map[string]any{"textDocument": map[string]any{"uri": c.uri}, "position": position(text, at), "newName": to})
	var edit struct {
		DocumentChanges []struct{ Edits []json.RawMessage }
	}
	if err == nil {
		err = json.Unmarshal(result, &edit)
	}
	for _, f := range edit.DocumentChanges {
		edits += len(f.Edits)
	}
	return edits, err
}

// memory is what the server has resident, in MB.
func (c *client) memory() float64 {
	fields := strings.Fields(c.proc("statm"))
	pages, err := strconv.ParseFloat(fields[1], 64)
	if err != nil && c.err == nil {
		c.err = err
	}
	return pages * float64(os.Getpagesize()) / 1e6
}

// cpu is the time that the server has computed.
func (c *client) cpu() time.Duration {
	stat := c.proc("stat")
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if c.err == nil && (err != nil || err2 != nil) {
		c.err = fmt.Errorf("/proc is not as expected: %s", stat)
	}
	return time.Duration(user+system) * time.Second / 100
}

func (c *client) proc(name string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", c.cmd.Process.Pid, name))
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		return strings.Repeat("0 ", 20) + ")" + strings.Repeat(" 0", 20)
	}
	return string(text)
}
