package llm

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Sizes in a message of AWS's event stream. A message consists of its length, the length of its
// headers and a checksum of both; the headers; the payload; and a checksum of all preceding bytes.
const (
	awsPrelude = 12
	awsTrailer = 4
	awsText    = 7 // type of a header whose value is a string
)

// awsEvent reads the next message and returns it as an object with one member, as the API's
// documentation describes events: the name is the type of the event, the value its payload. An
// exception becomes the member "exception" with its type and message.
func (f *frames) awsEvent() ([]byte, error) {
	var prelude [awsPrelude]byte
	if _, err := io.ReadFull(f.in, prelude[:]); err != nil {
		return nil, err
	}
	size, headers := binary.BigEndian.Uint32(prelude[:]), binary.BigEndian.Uint32(prelude[4:])
	if crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]) {
		return nil, badFrame("invalid checksum of an event's length")
	}
	if size < awsPrelude+awsTrailer || size > maxAnswer || headers > size-awsPrelude-awsTrailer {
		return nil, badFrame("invalid length of an event")
	}
	message := make([]byte, size)
	copy(message, prelude[:])
	if _, err := io.ReadFull(f.in, message[awsPrelude:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	end := len(message) - awsTrailer
	if crc32.ChecksumIEEE(message[:end]) != binary.BigEndian.Uint32(message[end:]) {
		return nil, badFrame("invalid checksum of an event")
	}
	names, err := awsHeaders(message[awsPrelude : awsPrelude+headers])
	if err != nil {
		return nil, err
	}
	payload := bytes.TrimSpace(message[awsPrelude+headers : end])
	kind := names[":event-type"]
	if names[":message-type"] != "event" {
		kind = "exception"
		var exception struct {
			Message json.RawMessage `json:"message"`
		}
		if json.Unmarshal(payload, &exception) != nil || exception.Message == nil {
			exception.Message, _ = jsonwrite.Encode(names[":error-message"] + string(payload))
		}
		typ, _ := jsonwrite.Encode(names[":exception-type"] + names[":error-code"])
		payload = append(append(append(append([]byte(`{"type":`), typ...), `,"message":`...), exception.Message...), '}')
	}
	name, err := jsonwrite.Encode(kind)
	if err != nil {
		return nil, err
	}
	f.event = append(append(f.event, '{'), name...)
	f.event = append(append(append(f.event, ':'), payload...), '}')
	return f.event, nil
}

// awsHeaders parses the headers of a message. In Bedrock their values are always strings.
func awsHeaders(data []byte) (map[string]string, error) {
	all := map[string]string{}
	for len(data) > 0 {
		n := int(data[0])
		if len(data) < n+4 || data[n+1] != awsText {
			return nil, badFrame("invalid headers of an event")
		}
		name, size := string(data[1:n+1]), int(binary.BigEndian.Uint16(data[n+2:]))
		if data = data[n+4:]; len(data) < size {
			return nil, badFrame("invalid headers of an event")
		}
		all[name], data = string(data[:size]), data[size:]
	}
	return all, nil
}

// badFrame returns the failure for a response that is not an event stream.
func badFrame(what string) error {
	return &Failure{Class: ClassBadAnswer, Message: "the provider's response is not an event stream: " + what + " (check the connection's base_url)"}
}
