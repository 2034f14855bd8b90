package eventstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// cleanRequest returns a request without secrets. It returns q itself if it contains none.
func (s *Stream) cleanRequest(q effect.Request) effect.Request {
	if s.options.Secrets.Empty() {
		return q
	}
	fresh := effect.Lookup(q.Kind()).Request()
	if s.replaceSecrets(q, fresh) {
		return fresh
	}
	return q
}

// cleanResult returns the result of an effect without secrets.
func (s *Stream) cleanResult(k effect.Kind, result effect.Result) effect.Result {
	row := effect.Lookup(k)
	if s.options.Secrets.Empty() || result == nil || row.Result == nil {
		return result
	}
	fresh := row.Result()
	if s.replaceSecrets(result, fresh) {
		return fresh
	}
	return result
}

// replaceSecrets decodes into clean what from contains, without secrets. It returns false if from
// contains no secret.
func (s *Stream) replaceSecrets(from, clean any) bool {
	text, err := json.Marshal(from)
	if err != nil {
		panic("eventstream: " + err.Error()) // requests and results are plain data
	}
	replaced := s.options.Secrets.JSON(text)
	if bytes.Equal(text, replaced) {
		return false
	}
	if err := json.Unmarshal(replaced, clean); err != nil {
		panic("eventstream: " + err.Error())
	}
	return true
}

// cleanError returns an error without secrets. Its *effect.Error, if it has one, is clean too.
func (s *Stream) cleanError(err error) error {
	if err == nil || s.options.Secrets.Empty() {
		return err
	}
	e, ok := errors.AsType[*effect.Error](err)
	if !ok {
		return s.options.Secrets.Error(err)
	}
	c := *e
	c.Message = s.options.Secrets.Text(e.Message)
	c.Fields = maps.Clone(e.Fields)
	for k, v := range c.Fields {
		if text, ok := v.(string); ok {
			c.Fields[k] = s.options.Secrets.Text(text)
		}
	}
	c.Cause = s.options.Secrets.Error(e.Cause)
	return &c
}
