package data_test

import (
	"bytes"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"testing"
)

// checkSealedVector is a function of the page that returns {code} or {out} for a vector of the
// formats of sealed events. seal_key is the public key of the device that opens wraps.
const checkSealedVector = `async ({ format, in: q, rosters, seal_key }) => {
	const roster = q.roster && await forms.parseRoster(rosters[q.roster]);
	const device = async () => {
		const { seal_key: d } = JSON.parse(q.keys), point = forms.decode64(seal_key, 65);
		const jwk = { kty: "EC", crv: "P-256", d, x: forms.encode64(point.subarray(1, 33)), y: forms.encode64(point.subarray(33)) };
		return { seal: await crypto.subtle.importKey("jwk", jwk, { name: "ECDH", namedCurve: "P-256" }, false, ["deriveBits"]), seal_key };
	};
	const secretOf = (e) => crypto.subtle.importKey("raw", forms.decode64(e.secret, 32), "HKDF", false, ["deriveKey", "deriveBits"]);
	// sameSecret reports whether two keys derive the same bits.
	const sameSecret = async (a, b) => {
		const bits = async (key) => forms.encode64(new Uint8Array(await crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: new Uint8Array() }, key, 256)));
		return await bits(a) === await bits(b);
	};
	const of = (epoch) => ({ account: epoch.account, host: epoch.host, key: q.host && roster.hostKey(q.host) });
	const open = async (s) => {
		forms.check(s);
		const epoch = q.epochs.find((e) => e.epoch === s.enc.epoch);
		if (!epoch) forms.refuse("old_epoch", "unknown");
		return { e: await forms.openEvent(await forms.deriveKey(await secretOf(epoch), "run", s.run_id), s, of(epoch)), of: of(epoch) };
	};
	const checks = {
		async key_record() {
			const k = await forms.verifyRecord(roster, q.text, q.host, q.known_epoch);
			const { secret, names } = await forms.openRecord(k, q.to, await device());
			return { names, position: k.position, secret };
		},
		async history() { return { secrets: await forms.openHistory(roster, q.text, q.host, q.to, await device()) }; },
		async share() { return (await share()).readShare(q.text, q.secret); },
		async beat() {
			const { readBeat } = await beats(), { at, ends } = await readBeat(JSON.parse(q.text), { account: roster.account, host: q.host, key: roster.hostKey(q.host) }, q.now);
			return { ends: forms.canonical(ends), time: at };
		},
		async event() { const { e } = await open(q.events[0]); return { ...e, data: forms.canonical(e.data) }; },
		async chain() {
			let c = q.chain ?? forms.start;
			const confirmed = [];
			for (const s of q.events) {
				const { e, of } = await open(s), next = await forms.follow(c, s, e, of);
				if (next.missing) forms.refuse("reordered", next.missing.join());
				if (next.confirmed) confirmed.push(next.confirmed);
				c = next.chain;
			}
			return { chain: forms.canonical(c), confirmed };
		},
	};
	try {
		const out = await checks[format]();
		const want = q.out?.epochs ?? [q.out?.epoch];
		if (out.secrets) return { out: { epochs: await Promise.all(want.map(async (e) => out.secrets.get(e.epoch) && await sameSecret(out.secrets.get(e.epoch), await secretOf(e)) ? e : null)) } };
		if (out.secret) out.epoch = await sameSecret(out.secret, await secretOf(want[0])) ? want[0] : null;
		delete out.secret;
		return { out };
	} catch (err) { return { code: err.code ?? String(err.stack) }; }
}`

// publicOf returns the public key of private keys in the form of package relay/seal.
func publicOf(t *testing.T, keys string) string {
	t.Helper()
	var k struct {
		Seal string `json:"seal_key"`
	}
	if err := json.Unmarshal([]byte(keys), &k); err != nil {
		t.Fatal(err)
	}
	scalar, err := base64.RawURLEncoding.DecodeString(k.Seal)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdh.P256().NewPrivateKey(scalar)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes())
}

// TestSealedVectors checks the vectors of key records, histories, sealed events, chains and beats.
func TestSealedVectors(t *testing.T) {
	b := start(t).tab("")
	rosters, cases := readVectors(t)
	checked, beats := 0, 0
	for _, c := range cases {
		if c.Format == "beat" && !bytes.Contains(c.In, []byte(`"chain"`)) {
			beats++ // with a chain: watchEnd compares the numbers of events
		} else if c.Format != "key_record" && c.Format != "history" && c.Format != "event" && c.Format != "share" && c.Format != "chain" {
			continue
		}
		var in map[string]any
		if err := json.Unmarshal(c.In, &in); err != nil {
			t.Fatal(err)
		}
		arg := map[string]any{"format": c.Format, "in": in, "rosters": rosters}
		if keys, ok := in["keys"].(string); ok {
			arg["seal_key"] = publicOf(t, keys)
		}
		in["out"] = c.Out // its secrets, to which the page compares its own
		got := evalJSON(t, b, checkSealedVector, arg)
		want := map[string]any{"code": c.Code}
		if c.Code == "" {
			want = map[string]any{"out": c.Out}
		}
		if text(t, got) != text(t, want) {
			t.Errorf("%s: the page has %s, want %s", c.Name, text(t, got), text(t, want))
		}
		checked++
	}
	if checked < 180 || beats < 10 {
		t.Errorf("%d vectors were checked, %d of beats", checked, beats)
	}
}
