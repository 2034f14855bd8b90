// Command host is a worker that Concerto supervises: it pretends to migrate a database, and speaks
// the host protocol, one JSON object per line, on its standard streams. Its standard error goes to
// the run's log.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
)

// message is any line of the protocol, in either direction.
type message map[string]any

// peer is the supervisor at the other end of our standard streams.
type peer struct {
	in  *bufio.Scanner
	out *json.Encoder
	ids int
}

func main() {
	log.SetFlags(0)
	p := &peer{in: bufio.NewScanner(os.Stdin), out: json.NewEncoder(os.Stdout)}
	for {
		m, ok := p.read()
		if !ok {
			return // the supervisor has closed the stream
		}
		if m["type"] != "prompt" {
			log.Printf("ignoring a %v message", m["type"])
			continue
		}
		if err := migrate(p, fmt.Sprint(m["text"])); err != nil {
			p.send(message{"type": "error", "message": err.Error()})
		}
	}
}

// migrate does the work of one prompt and sends its result.
func migrate(p *peer, task string) error {
	log.Printf("task: %s", task)
	p.progress(10, "Reading the schema")
	users, err := p.ask(message{"type": "tool_call", "tool": "count_rows", "args": message{"table": "users"}})
	if err != nil {
		return err
	}
	sessions, err := p.ask(message{"type": "tool_call", "tool": "Database::count_rows", "args": message{"table": "sessions"}})
	if err != nil {
		return err
	}
	layout, err := p.ask(message{"type": "question", "question": "One column per field, or one for all?",
		"options": []string{"a column per field", "one JSON column"}})
	if err != nil {
		return err
	}
	p.progress(40, fmt.Sprintf("Writing %v of %v users' sessions as %v", sessions, users, layout))
	if _, err := p.ask(message{"type": "question", "question": "Copy before deleting?", "options": []string{"yes"}}); err != nil {
		return err
	}
	p.progress(80, "Copied")
	allowed, err := p.ask(message{"type": "approval", "description": "Drop the table sessions", "risk_level": "high"})
	if err != nil {
		return err
	}
	if allowed != "yes" {
		return fmt.Errorf("not allowed to drop the old table")
	}
	return p.send(message{"type": "result", "text": "Moved the sessions", "rows": sessions})
}

func (p *peer) progress(percent int, text string) {
	p.send(message{"type": "progress", "message": text, "percent": percent})
}

// ask sends a message that requires an answer and waits for the answer, which may be an error.
func (p *peer) ask(m message) (any, error) {
	p.ids++
	id := fmt.Sprintf("m%d", p.ids)
	m["id"] = id
	if err := p.send(m); err != nil {
		return nil, err
	}
	for {
		r, ok := p.read()
		if !ok {
			return nil, fmt.Errorf("the supervisor left while %s was waiting for an answer", id)
		}
		if r["answer_to"] != id {
			continue
		}
		if failure, ok := r["error"]; ok {
			return nil, fmt.Errorf("%v: %v", m["type"], failure)
		}
		return r["value"], nil
	}
}

func (p *peer) send(m message) error { return p.out.Encode(m) }

// read returns the next message, or false at the end of the input.
func (p *peer) read() (message, bool) {
	for p.in.Scan() {
		var m message
		if err := json.Unmarshal(p.in.Bytes(), &m); err != nil {
			log.Printf("not a message: %v", err)
			continue
		}
		return m, true
	}
	return nil, false
}
