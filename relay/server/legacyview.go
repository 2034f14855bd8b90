package server

import (
	"bytes"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// viewOf returns the frame of an event as the app receives it, or nil if it does not receive it. An
// app that speaks protocol 1 cannot open sealed events. Of a sealed run it receives frames that the
// server writes: the start, a line of output in place of the second event, and the exit.
func (a *app) viewOf(e *entry) []byte {
	if a.speaks2() || e.run == "" || !bytes.Contains(e.frame, []byte(`"enc":`)) {
		return e.frame
	}
	sealed, why := protocol.Parse(e.frame)
	if why != nil || sealed.Enc == nil {
		return e.frame
	}
	var data any
	switch {
	case e.typ == protocol.RunStarted:
		data = protocol.Started{Tool: "sealed"}
	case e.typ == protocol.RunExited:
		data = protocol.Exited{ExitCode: -1}
	case e.seq == 2:
		sealed.Type = protocol.RunOutput
		data = protocol.Output{Stream: "stdout", Text: "This run is sealed. Open it on an enrolled device.\n"}
	default:
		return nil
	}
	view := protocol.New(sealed.Type, time.Time{}, data)
	view.TS, view.MachineID, view.RunID, view.Seq = sealed.TS, sealed.MachineID, sealed.RunID, sealed.Seq
	return view.Append(nil)
}
