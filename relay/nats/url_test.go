package nats_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/nats"
)

func TestURL(t *testing.T) {
	for text, good := range map[string]bool{"nats://127.0.0.1:4222": true, "nats://a:1,tls://b": true, "http://a": false, "a:4222": false, "": false, "nats://": false, "nats://u:secret@[": false} {
		if err := nats.CheckURL(text); (err == nil) != good || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("CheckURL(%q) = %v", text, err)
		}
	}
}
