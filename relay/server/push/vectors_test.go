package push

import (
	"crypto/ecdh"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
)

func bytesOf(t *testing.T, text string) []byte {
	t.Helper()
	b, err := raw.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRFC8291 checks the example of RFC 8291, section 5 and appendix A.
func TestRFC8291(t *testing.T) {
	key, err := ecdh.P256().NewPrivateKey(bytesOf(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	to, err := parseReceiver("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "BTBZMqHH6r4Tts7J_aSIgg==")
	if err != nil {
		t.Fatal(err)
	}
	got, err := to.encryptWith([]byte("When I grow up, I want to be a watermelon"), key, bytesOf(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if err != nil || raw.EncodeToString(got) != want {
		t.Errorf("encrypted message = %s, %v; want that of RFC 8291", raw.EncodeToString(got), err)
	}
	if _, err := to.encrypt(make([]byte, MaxText+1)); err == nil {
		t.Error("a message above MaxText was accepted")
	}
	if got, err := to.encrypt(make([]byte, MaxText)); err != nil || len(got) != recordSize {
		t.Errorf("size of the largest message = %d bytes, %v; want the size of a record", len(got), err)
	}
}

// TestRFC8292 checks that the test push service accepts the example of RFC 8292, section 2.4, and
// refuses modifications of it.
func TestRFC8292(t *testing.T) {
	const key = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
	const header = "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0." +
		"i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, k=" + key
	at := time.Unix(1453523768-3600, 0)
	if err := pushtest.CheckVAPID(header, key, "https://push.example.net", at); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"late":         pushtest.CheckVAPID(header, key, "https://push.example.net", at.Add(time.Hour)),
		"too early":    pushtest.CheckVAPID(header, key, "https://push.example.net", at.Add(-24*time.Hour)),
		"elsewhere":    pushtest.CheckVAPID(header, key, "https://push.example.com", at),
		"another key":  pushtest.CheckVAPID(header, key[:80]+"AAAAAAA", "https://push.example.net", at),
		"changed":      pushtest.CheckVAPID(strings.Replace(header, "i3CYb7", "i3CYb8", 1), key, "https://push.example.net", at),
		"no signature": pushtest.CheckVAPID("vapid t=a.b, k="+key, key, "https://push.example.net", at),
	} {
		if err == nil {
			t.Errorf("%s: the modified token was accepted", name)
		}
	}
}

// TestAddresses checks which endpoints are invalid.
func TestAddresses(t *testing.T) {
	for text, insecure := range map[string]bool{
		"http://push.example/x": false, "https://": true, "ftp://x/y": true, "https://a@push.example/x": false, "https://push.example/x#y": false, "https://127.0.0.1/x": false, "https://[::1]/x": false,
		"https://10.0.0.1:8443/": false, "": true, "https:push": true, "https://push.example/" + strings.Repeat("x", maxEndpoint): true,
	} {
		if _, err := endpointOf(text, insecure); err == nil {
			t.Errorf("endpoint %.60s was accepted", text)
		}
	}
	for text, insecure := range map[string]bool{"https://push.example/x?y=z": false, "http://127.0.0.1:1/x": true, "https://8.8.8.8/x": false} {
		if _, err := endpointOf(text, insecure); err != nil {
			t.Errorf("endpoint %s was refused: %v", text, err)
		}
	}
	// The address is checked after the name is resolved.
	if _, err := newClient(newDialer(false).DialContext).Get("http://localhost:1/"); !errors.Is(err, errAddress) {
		t.Errorf("request to localhost: error = %v, want errAddress", err)
	}
}

// TestTopic checks that a topic has the maximum length.
func TestTopic(t *testing.T) {
	if n := len(topic("run_a", "q1")); n != 32 || protocol.MaxSubscriptions != 10 {
		t.Errorf("length of a topic = %d, want 32", n)
	}
}
