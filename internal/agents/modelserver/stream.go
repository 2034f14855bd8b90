package modelserver

import (
	"io"
	"net/http"
	"time"
)

// stream sends the reply in pieces. It ends the stream as the script requires.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, f *form, reply *Reply, body map[string]any) {
	kind := "text/event-stream"
	if f.name == "ollama" {
		kind = "application/x-ndjson"
	}
	if f.name == "bedrock" {
		kind = "application/vnd.amazon.eventstream"
	}
	w.Header().Set("Content-Type", kind)
	send := func(text string) bool {
		step := len(text)
		if reply.Chunk > 0 {
			step = reply.Chunk
		}
		for len(text) > 0 {
			n := min(step, len(text))
			if _, err := io.WriteString(w, text[:n]); err != nil || r.Context().Err() != nil {
				return false
			}
			w.(http.Flusher).Flush()
			text = text[n:]
		}
		return true
	}
	for i, e := range f.events(reply, body) {
		switch {
		case reply.CutAfter > 0 && i == reply.CutAfter:
			panic(http.ErrAbortHandler)
		case reply.HangAfter > 0 && i == reply.HangAfter:
			<-r.Context().Done()
			s.Disconnected <- struct{}{}
			return
		}
		if !send(e) {
			s.Disconnected <- struct{}{}
			return
		}
		if reply.Endless && i >= f.first {
			for piece := f.piece(reply.Text); send(piece); {
				if reply.EveryMS > 0 {
					time.Sleep(time.Duration(reply.EveryMS) * time.Millisecond)
				}
			}
			s.Disconnected <- struct{}{}
			return
		}
	}
}
