package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// capabilities of the hosts, by the names of their declarations.
var capabilities = map[string]string{
	"Worker":  `"cancel"`,
	"Resumer": `"cancel","resume"`,
	"Pilot":   `"cancel","resume","steer"`,
}

// talk is a conversation with a vendor. It survives the processes of its host.
type talk struct {
	answers map[string]string // that a process of the host has read, by the type of the request and the prompt
}

// seen is what a host has done, for the judge.
type seen struct {
	received []message         // lines that the host has read
	granted  []string          // descriptions of approvals for which it received yes
	lines    map[string]int    // number of lines of progress, by prompt
	results  map[string]string // by prompt
}

// message is a line that a host has read.
type message struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ID       string `json:"id"`
	AnswerTo string `json:"answer_to"`
	Answers  string `json:"in_reply_to"`
	Value    string `json:"value"`
	Session  string `json:"session"`
	Key      string `json:"key"`
	Resumed  *struct {
		Response *message `json:"response"`
	} `json:"resumed"`
}

// readMessage returns the host's next line, and false at the end of its input.
func (h *hostProcess) readMessage() (m message, ok bool) {
	text, ok := h.readLine()
	if !ok || json.Unmarshal([]byte(text), &m) != nil {
		return m, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.received = append(h.received, m)
	return m, true
}

// run plays the host.
func (h *hostProcess) run() {
	defer h.leave(procgroup.Exit{})
	for {
		m, ok := h.readMessage()
		switch {
		case !ok:
		case m.Type == "init":
			ok = h.send(`{"type":"init_ack","capabilities":[%s]}`, capabilities[h.kind])
		case m.Type == "prompt":
			ok = h.work(&m)
		}
		if !ok {
			return
		}
	}
}

// talkOf returns the conversation of a prompt, with the answer that it contains. name is its name;
// "" if the host cannot resume it.
func (h *hostProcess) talkOf(m *message) (t *talk, name string) {
	if !strings.Contains(capabilities[h.kind], "resume") {
		return &talk{map[string]string{}}, ""
	}
	x := &h.world.hosts
	x.mu.Lock()
	defer x.mu.Unlock()
	if name = m.Session; name == "" {
		name = "talk of " + m.Text
	}
	if x.talks == nil {
		x.talks = map[string]*talk{}
	}
	if x.talks[name] == nil {
		x.talks[name] = &talk{map[string]string{}}
	}
	if m.Resumed != nil && m.Resumed.Response != nil {
		x.talks[name].answers[m.Resumed.Response.Answers+" "+m.Text] = m.Resumed.Response.Value
	}
	return x.talks[name], name
}

// work performs a prompt: it reports progress, asks a question, requests an approval, and ends with
// a result. It returns false if the host must exit.
func (h *hostProcess) work(m *message) bool {
	t, session := h.talkOf(m)
	answers := []string{"", ""}
	for i, typ := range []string{"question", "approval"} {
		for range 2 {
			if !h.progress(m.Text, session) {
				return false
			}
		}
		answer, known := t.answers[typ+" "+m.Text]
		if !known {
			var alive bool
			if answer, alive = h.ask(typ, m.Text, t); answer == "" {
				return alive
			}
		}
		answers[i] = answer
		if typ == "approval" && answer == "yes" {
			h.mu.Lock()
			h.granted = append(h.granted, m.Text)
			h.mu.Unlock()
		}
	}
	if !h.progress(m.Text, session) {
		return false
	}
	result := fmt.Sprintf("%s by %s: %s, %s", m.Text, h.name, answers[0], answers[1])
	h.world.mu.Lock()
	h.results[m.Text] = result
	h.world.note(h.name, "has the result %q", result)
	h.world.mu.Unlock()
	return h.send(`{"type":"result","text":%q}`, result)
}

// progress sends a numbered line.
func (h *hostProcess) progress(prompt, session string) bool {
	h.mu.Lock()
	h.lines[prompt]++
	n := h.lines[prompt]
	h.mu.Unlock()
	if session != "" {
		session = fmt.Sprintf(`,"session":%q`, session)
	}
	return h.send(`{"type":"progress","message":"line %d of %s for %s"%s}`, n, h.name, prompt, session)
}

// ask sends a request and returns the answer, or "" if there is none. alive is false if the host
// must exit.
func (h *hostProcess) ask(typ, prompt string, t *talk) (answer string, alive bool) {
	member := map[string]string{"question": "question", "approval": "description"}[typ]
	id := typ + " " + prompt
	if !h.send(`{"type":%q,"id":%q,%q:%q}`, typ, id, member, id) {
		return "", false
	}
	for {
		m, ok := h.readMessage()
		switch {
		case !ok:
			return "", false
		case m.Type == "response" && m.AnswerTo == id:
			h.world.hosts.mu.Lock()
			t.answers[id] = m.Value
			h.world.hosts.mu.Unlock()
			return m.Value, true
		case m.Type == "cancel":
			return "", h.send(`{"type":"error","message":"%s of %s is cancelled"}`, prompt, h.name)
		}
	}
}

// worked checks that a value is a result of a host, or a failure that is true.
func worked(w *world, name, value string) string {
	for _, h := range w.hosts.all {
		for _, prompt := range []string{name, name + " more"} {
			if h.results[prompt] == value {
				return ""
			}
		}
	}
	return unless(strings.HasPrefix(value, "failed") && (w.isDisturbed() || w.hasOrphaned()), "J3: no host has this result")
}

// hasLostHost reports whether a host or a keeper was killed.
func (w *world) hasLostHost() bool {
	for _, h := range w.hosts.all {
		if h.exit.Code != 0 {
			return true
		}
	}
	return false
}

// judge checks what the hosts have received, and what the program has received of them. out is the
// output of the run.
func (x *hosts) judge(w *world, out []string) {
	texts := map[string]int{}
	for _, h := range x.all {
		answers := map[string]int{}
		for _, m := range h.received {
			switch {
			case m.Type == "prompt" && m.Resumed != nil:
			case m.Type == "prompt", m.Type == "steer":
				texts[m.Text]++
			case m.Type == "response":
				if answers[m.AnswerTo]++; answers[m.AnswerTo] > 1 {
					w.fail("J6", "%s received two answers to %q", h.name, m.AnswerTo)
				}
			}
		}
		for _, name := range h.granted {
			if !w.people.allowed["approval "+name] {
				w.fail("J10", "%s received a yes to %q that no person has given", h.name, name)
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		if texts[text] > 1 {
			w.fail("J6", "hosts received %q %d times", text, texts[text])
		}
	}
	x.judgeLines(w, out, texts)
}

// lineOf matches a line of progress of a host.
var lineOf = regexp.MustCompile(`^line (\d+) of (\S+) for (.*)$`)

// judgeLines checks that the program has handled each line of a host once and in order, and that
// the messages of the program to hosts have arrived if it was notified of that. texts contains the
// numbers of arrivals.
func (x *hosts) judgeLines(w *world, out []string, texts map[string]int) {
	handled := map[string]int{}   // by host and prompt
	failed := map[string]bool{}   // exchanges, by block
	sent := map[string][]string{} // what senders have learned, by block
	for _, text := range out {
		var l line
		var payload string
		if json.Unmarshal([]byte(text), &l) != nil || json.Unmarshal(l.Payload, &payload) != nil {
			continue
		}
		if m := lineOf.FindStringSubmatch(payload); l.Channel == "line" && m != nil {
			of := m[2] + " " + m[3]
			n, _ := strconv.Atoi(m[1])
			if handled[of]++; handled[of] != n {
				w.fail("J7", "line %d of %s is handled after line %d", n, of, handled[of]-1)
			}
		}
		if name, outcome, _ := strings.Cut(payload, ": "); l.Channel == "steered" {
			sent[name] = append(sent[name], outcome)
		}
		failed[l.Channel] = strings.HasPrefix(payload, "failed")
	}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		n := texts[name+" more"]
		for _, outcome := range sent[name] {
			if strings.Contains(outcome, "may have received") {
				continue
			}
			switch isSent := !strings.HasPrefix(outcome, "refused"); {
			case !isSent && n > 0:
				w.fail("J6", "a message to the host of %s arrived, and its sender learned %q", name, outcome)
			case isSent && n == 0 && !failed[name] && !w.hasLostHost():
				w.fail("J6", "a message to the host of %s did not arrive, and its sender learned %q", name, outcome)
			}
		}
	}
	for _, h := range x.all {
		for prompt := range h.results {
			if of := h.name + " " + prompt; handled[of] < h.lines[prompt] && !w.isDisturbed() {
				w.fail("J7", "%d of %d lines of %s are handled", handled[of], h.lines[prompt], of)
			}
		}
	}
}
