package seal

import (
	"encoding/json"
	"strings"
)

const contextPasskey = contextPrefix + "passkey"

// passkey is a device's keys, wrapped by a passkey.
type passkey struct {
	V          int64  `json:"v"`
	Account    string `json:"account"`
	Device     string `json:"device"`
	Credential string `json:"credential"`
	CT         string `json:"ct"`
}

// passkeyContent is the plaintext of a passkey.
type passkeyContent struct {
	Name    string          `json:"name"`
	Private json.RawMessage `json:"private"`
	PublicKeys
}

// sealPasskey wraps keys with the output of the PRF extension.
func sealPasskey(account, device, credential string, prf Key, content []byte) string {
	p := passkey{1, account, device, credential, ""}
	p.CT = must(sealText(prf.derive(contextPasskey).aead(), place("passkey", account, device), content))
	return string(encode(p))
}

// openPasskey returns the keys in a passkey for an account, and the name of the device.
func openPasskey(text, account string, prf Key) (*Keys, string, error) {
	p, c := &passkey{}, &passkeyContent{}
	if err := decode([]byte(text), p); err != nil {
		return nil, "", err
	}
	switch {
	case p.V != 1:
		return nil, "", refuse(Unsupported, "version %d", p.V)
	case p.Account != account:
		return nil, "", refuse(WrongRequest, "for another account")
	}
	plain, err := openText(prf.derive(contextPasskey).aead(), place("passkey", p.Account, p.Device), p.CT)
	if err != nil {
		return nil, "", err
	}
	if err := decode(plain, c); err != nil {
		return nil, "", err
	}
	k, err := ParseKeys(c.Private)
	if err != nil || k.Public() != c.PublicKeys || k.Public().DeviceID() != p.Device {
		return nil, "", refuse(BadMessage, "other keys than those of the device")
	}
	return k, c.Name, checkText("name", c.Name)
}

func (v *vectors) addPasskeys(w *world) {
	phone, account := w.ids["phone"], w.roster.Account()
	prf := Key(randomBytes(32))
	keys := w.keys["phone"]
	content := string(encode(passkeyContent{"Ada’s phone", keys.Marshal(), keys.Public()}))
	with := func(name string, code Code, change func(in *inputs)) {
		in := inputs{Account: account, FreshKey: encode64(prf[:]), Text: sealPasskey(account, phone, "AAEC", prf, []byte(content))}
		change(&in)
		v.add("passkey", name, code, in)
	}
	with("of the phone", "", func(*inputs) {})
	with("with another output", BadSignature, func(in *inputs) { in.FreshKey = encode64(randomBytes(32)) })
	with("for another account", WrongRequest, func(in *inputs) { in.Account = "a_other" })
	edit := func(name string, code Code, from, to string) {
		with(name, code, func(in *inputs) { in.Text = strings.Replace(in.Text, from, to, 1) })
	}
	edit("with the id of another device", BadSignature, phone, w.ids["browser"])
	edit("with another credential", "", "AAEC", "AAED")
	edit("of version 2", Unsupported, `"v":1`, `"v":2`)
	edit("with a space", BadMessage, `"v":1`, `"v": 1`)
	edit("with an unknown member", BadMessage, `"v":1`, `"v":1,"x":1`)
	edit("with another ct", BadSignature, `"ct":"`, `"ct":"AAAA`)
	plain := func(name string, code Code, text string) {
		with(name, code, func(in *inputs) { in.Text = sealPasskey(account, phone, "AAEC", prf, []byte(text)) })
	}
	plain("without a name", BadMessage, strings.Replace(content, `"name":"Ada’s phone",`, ``, 1))
	plain("with the keys of another device", BadMessage, string(encode(passkeyContent{"x", w.keys["cli"].Marshal(), w.keys["cli"].Public()})))
	plain("with other public keys", BadMessage, string(encode(passkeyContent{"x", w.keys["cli"].Marshal(), keys.Public()})))
	plain("with an array", BadMessage, `[]`)
}
