// Package seal defines the formats by which a host checks that a decision comes from an enrolled
// device, and not from the relay, and by which only members of an account can read its runs. It
// contains keys, the roster of an account, statements, enrolment, the check of a ledger's
// decisions, the key records of a host, and sealed events, commands and responses. It has no I/O
// and no clock: callers pass texts and times, and store what they receive.
//
// # Forms
//
// All texts are JSON in the canonical form of RFC 8785, in which all digits of an integer are
// written. A value has exactly one form: unknown, missing, duplicate and differently written
// members are refused. Members marked with ? are absent if they are empty. A text has at most 4,096
// bytes unless stated otherwise, except a content. Integers are less than 2^53. Binary values are
// base64url without padding and hashes are SHA-256 in 64 lower-case hexadecimal digits, unless
// stated otherwise. Ids have 1 to 64 of A-Z a-z 0-9 _ -. Times are RFC 3339 in UTC with
// milliseconds, 2026-01-02T15:04:05.000Z. Names and users have 1 to 200 bytes without U+0000 to
// 001F, 007F to 009F, 200B to 200F, 2028 to 202E and 2066 to 2069.
//
// A signature is ECDSA with P-256 and SHA-256, r and s of 32 bytes each, over a context, a line
// feed, and a canonical text. An HMAC is HMAC-SHA256 over the same input. The contexts begin with
// "concerto-sealed-v1 ": command, local, roster, member, join, commit, digits, fresh, code,
// recovery, epoch, history, run.head, run.gap, beat.
//
// # Keys
//
// A member has a sign_key (ECDSA) and a seal_key (ECDH), both of P-256. A public key
// is the uncompressed point of 65 bytes, which WebCrypto exports as "raw". Private keys are stored
// as {seal_key, sign_key, v: 1}, each a scalar of 32 bytes. The id of a device is "d_" and the
// first 16 bytes of the SHA-256 of the point of its sign_key in base64url. The id of a host is its
// id at the relay.
//
// # Roster
//
// A roster is NDJSON. A line is {account, at, body, by, kind, n, prev, sig, v: 1}. n counts from
// 1, prev is the hash of the previous line without its line feed, and at is never before that of
// the previous line. sig covers the line without sig (context roster), by the member with the id
// by: an owner's device of the preceding lines, or "recovery". In the first line, account and prev
// are "". The account's id is "a_" and the SHA-256 of the first line in base64url.
//
//	genesis  {recovery: {private, seal_key, sign_key}, suite: 1}, by recovery
//	add      {id, kind: device|host, own_sig, page?, role?, seal_key, sign_key, user}
//	remove   {id}
//	policy   {decide: {high?, low?, medium?}}, each any or pinned; any if absent
//
// A device has a role (viewer, operator or owner) and a page: "cli", "server" (the relay's own
// page), or another origin: http or https, a host in lower case, and a port unless it is the
// scheme's. own_sig is the member's signature (context member) over {account, id,
// kind, seal_key, sign_key}. A key is never added twice, also not after a removal.
//
// The recovery code is 16 random bytes and 12 check bits, the first of the SHA-256 of the context
// code, a line feed, and the bytes: 28 letters of Crockford's base 32 (without I, L, O and U) in
// groups of four with hyphens. Readers ignore case, spaces and hyphens, and accept O as 0, I and L
// as 1. private is a nonce of 12 bytes and the AES-256-GCM of the two private scalars, sign_key
// first, under HKDF-SHA256 of the 16 bytes (empty salt, info: the context recovery) with the
// additional data ["concerto-sealed-v1 recovery",sign_key,seal_key].
//
// # Statements
//
// A command is {content, sig, statement}, in any JSON form. statement is
//
//	{account, after?, args_sha256?, at, content_sha256, counter, decision?, device, fresh, host, id,
//	kind, request_sha256?, roster: {hash, n}, run?, scope?, v: 1}
//
// kind is decide, input, keys, stop, resize or rpc. Only decide has decision (approve or deny),
// scope (once or session), request_sha256 and args_sha256; the latter is absent if the request has
// none. Only rpc may have no run. after is the counter of the device's previous input or keys to
// the run, absent for the first. content is {data, salt} with a salt of 16 bytes; data is the
// command's data, an object, in which an RPC has rpc_type, its type. content_sha256 and
// request_sha256 are hashes of canonical forms. sig has the context command.
//
// The statement of a decision at the host's machine has local: {pid, uid} instead of after,
// counter, device and fresh. The host signs it with the context local. A ledger stores {sig,
// statement}.
//
// A device names a line of the roster that it has verified, not before the one that added it.
//
// fresh is 24 bytes: the host's time in milliseconds since 1970 as 8 bytes, big-endian, and the
// first 16 bytes of the HMAC of these 8 bytes (context fresh) under a key that only the host has.
//
// # Enrolment
//
// A link is PAGE#/join/ and account, session, secret (32 bytes), expiry (seconds since 1970) and
// server (its URL in base64url), separated by dots. The new member replies with {account, id, kind,
// mac, name, own_sig, seal_key, session, sign_key, v: 1}; mac is the HMAC of the reply without mac
// (context join) under the secret.
//
// By code, both sides send {commit, session, side: add|join, v: 1} and, after they have received
// the other side's, their reveal. commit is the SHA-256 of the context commit, a line feed, and the
// reveal, in base64url; a nonce has 32 bytes.
//
//	{account, nonce, roster: {hash, n}, session, side: "add", v: 1}
//	{id, kind, name, nonce, seal_key, session, side: "join", sign_key, v: 1}
//
// The digits are the first 8 bytes, big-endian, of the SHA-256 of the context digits, a line feed,
// and [add reveal, join reveal], modulo 1,000,000. When the user has confirmed them on the new
// member, it sends {own_sig, session, side: "join", v: 1}.
//
// # Epochs
//
// In each of its epochs, which count from 1, a host has a secret and a command key for each device,
// of 32 bytes each. A wrap {ct, enc} is HPKE (RFC 9180) for a seal_key in base mode with
// DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-256-GCM and the info "concerto-sealed-v1 keys". A
// derived key is HKDF-SHA256 with an empty salt, an info in canonical form, and 32 bytes.
//
// A key record has at most 1 MiB: {account, at, epoch, host, names, prev, roster: {hash, n}, sig,
// v: 1, wraps: [{ct, enc, to}]}. prev is the hash of the host's newest record before it whose
// line the roster has, or "": after the user has chosen another roster, records may be left out, so
// that the epochs need not be consecutive. sig is by the host (context epoch), over the record
// without sig. There is one wrap for each device as of
// line n, in the order of their lines, of the secret and the device's command key, and a last one
// for the seal_key of recovery (to: "recovery"), of the secret. The additional data of a wrap are
// [account, host, epoch, n, to]. names is the sealed text {id: name, …} under the key with the info
// ["concerto-sealed-v1 names"] of the secret, with the place ["concerto-sealed-v1", "names",
// account, host, epoch].
//
// A history has the secrets of epochs, in ascending order and one after the other, for a device
// that was added later. It has at most 1 MiB: {account, by, ct, enc, epochs: [n, …], host, sig, to,
// v: 1}. sig (context history) is by the host, or an owner's device. The additional data of the
// wrap are [account, host, epochs, to].
//
// A share has the keys of runs for those who have a link with a random secret of 32 bytes. Its id
// is "s_" and the base64url of the first 16 bytes of the key with the info ["concerto-sealed-v1
// share"] of the secret. It has at most 1 MiB: {account, ct, host, share, v: 1}, where share is the
// id. ct is the sealed text {keys: {RUN: {EPOCH: key, …}, …}, sign_key} under the key with the info
// ["concerto-sealed-v1 read"] of the secret, which the host has, with the place
// ["concerto-sealed-v1", "share", account, host, share]. Its keys are those of the runs' events in
// the epochs, and its sign_key is that of the host. The share of a link for an approver also has
// roster: {hash, n}, the host's newest line.
//
// A grant is for the browser that first uses the link of an approver, the guest: {account, at, by,
// expires, host, page, roster: {hash, n}, runs: [RUN, …], share, sig, v: 1}. sig (context grant)
// is by an owner's device with the id by, over the grant without sig; page is server, or the
// origin of the link's page. The guest key is the key with the info ["concerto-sealed-v1 guest"]
// of the secret, which the host has. A guest has a sign_key, which no member has or had; its id is
// that of a device with this key. It names a line of the roster that has the host, and the host
// accepts its commands while the device that signed the grant is a member.
//
// # Sealed texts
//
// A sealed text (ct) is a random nonce of 12 bytes, the AES-256-GCM ciphertext of a padded text,
// and the tag of 16 bytes, in base64url of at most 4 MiB less 4 KiB. A padded text is the text, a
// byte 0x80, and zeros up to a size of Padmé, at least 256 bytes: if text and 0x80 have n bytes, e
// is the exponent of the highest bit of n, and s the number of bits of e, the size is n rounded up
// to a multiple of 2^(e-s). The additional data are the text's place, a canonical array.
//
// # Events
//
// An event has the type, ts, run_id and seq of its frame, enc: {epoch, v: 1}, and data: {ct, from?,
// input_id?, prev, push?, request_id?}, in any JSON form. ct is the sealed text {data, ts, type}
// under the key with the info ["concerto-sealed-v1 run", run] of the epoch's secret, with the place
//
//	["concerto-sealed-v1","event",account,host,run,seq,type,epoch,request_id,input_id,prev]
//
// in which absent ids are "". type is that of the frame: the event's own if visibleTypes has it,
// and run.sealed otherwise; ts is the same in both. request_id and input_id are those of the
// event's data, for the types of visibleTypes that have them. Only a run.gap has from, that of its
// data. prev is the tag of the run's previous event, or "" for seq 1.
//
// The hash of a sequence of events is SHA-256 of the hash of all but the last one (32 bytes; zeros
// for none), the place of the last one, a line feed, and the bytes of its ct. The data of the event
// run.head, in the frame a run.sealed, are {fresh, prev_head, sha256, sig, to}: to is the previous
// sequence number, sha256 the hash of the events from the previous head, which is included, to this
// one, which is not, and prev_head the hash of the previous head's data, or "". The data of run.gap
// are {from, prev_head, reason, sha256, sig, tag, to}. The host has dropped the events with the
// sequence numbers from up to to, which is that of the gap, and no head. tag is that of the last
// dropped event; sha256 and prev_head are those of a head that followed it. sig is the host's
// signature over [account, host, run, data without sig], in the context of the event's type.
//
// A beat has at most 256 KiB: {account, ends: {run: {seq, tag}, …}, fresh, host, sig, v: 1}. sig is
// by the host (context beat), over the beat without sig.
//
// # Sealed commands
//
// The data of a command is {ct, device, epoch, id}, in any JSON form. id and device are those of
// the statement. ct is the sealed text {content, sig, statement} under the device's command key.
// The ct of a response to an RPC is the sealed text of its data, under the key with the info
// ["concerto-sealed-v1 response", id, tag] of the command key, where tag is that of the command.
// A guest seals {content, guest: {mac, sign_key}, sig, statement} under the key with the info
// ["concerto-sealed-v1 guest", epoch] of the guest key; device is the id of the share. mac is an
// HMAC (context guest) over [account, host, share, sign_key] under the guest key. A ledger stores
// {guest: {grant, sig, sign_key}, sig, statement}, where the first sig (context guest) is by the
// host, over the same text. Their places, in which the kind of a response is rpc and a missing run
// is "", are
//
//	["concerto-sealed-v1","command",account,host,run,kind,epoch,id,device]
//	["concerto-sealed-v1","response",account,host,run,kind,epoch,id,device]
//
// # Notices
//
// A request, its outcome and the end of a run have bodies for push messages: push: {device: body,
// …} in the data of their event, for all devices of its epoch with a page other than cli. A body is
// the sealed text {summary, title, ts}, in which the padded text has 512 bytes, under the key with
// the info ["concerto-sealed-v1 push"] of the device's command key, with the place
//
//	["concerto-sealed-v1","push",account,host,run,epoch,type,request_id,device]
//
// ts is that of the event, and request_id is "" for the end. The host shortens the texts to the
// size. An event without space for the bodies in its frame has none. The server removes push from
// the event, so that other readers do not receive it, and no hash or tag covers it.
//
// # Passkeys
//
// Only the page uses these. A passkey of a device is {account, credential, ct, device, v: 1}. ct is
// the sealed text {name, private, seal_key, sign_key}, in which name is that of the device and
// private has its private keys, as they are stored. Its key has the info ["concerto-sealed-v1
// passkey"] of the output of the PRF extension of WebAuthn for the credential and the input
// "concerto-sealed-v1 passkey". Its place is ["concerto-sealed-v1","passkey",account,device].
package seal

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Code is the reason why a text was refused.
type Code string

// The codes of refusals.
const (
	BadMessage     Code = "bad_message"      // the text has another form
	Unsupported    Code = "unsupported"      // a later version of Concerto is required
	UnknownDevice  Code = "unknown_device"   // no such member, or not at that time
	Forbidden      Code = "forbidden"        // the member's role does not allow it
	PageNotTrusted Code = "page_not_trusted" // the policy does not allow the device's page
	RosterFork     Code = "roster_fork"      // two rosters or lists of key records differ, or lines are missing
	BadSignature   Code = "bad_signature"    // a signature, HMAC, commitment, content or tag does not match
	WrongRequest   Code = "wrong_request"    // signed for another account, host, run, request or session
	Replayed       Code = "replayed"
	Reordered      Code = "reordered" // an earlier input or event is missing
	Stale          Code = "stale"
	UnknownRequest Code = "unknown_request" // the request is not open
	ArgsChanged    Code = "args_changed"    // the signed request or arguments differ from the host's
	Expired        Code = "expired"         // the enrolment has ended
	OldEpoch       Code = "old_epoch"       // the epoch has ended, or its keys are unknown
	WrongCode      Code = "wrong_code"      // the typed digits differ
)

// Refusal is the error for a text that is invalid, or that no authorized member signed. All other
// errors are internal.
type Refusal struct {
	Code Code
	Why  string
	// Retry reports that the statement may become acceptable: an earlier input or the roster's
	// newest lines are missing. The host may wait for them and check it again.
	Retry bool
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Why) }

func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Why: fmt.Sprintf(format, args...)}
}

const contextPrefix = "concerto-sealed-v1 "

// Contexts of signatures, HMACs, hashes and keys. An input of one context is valid in no other.
const (
	contextCommand  = contextPrefix + "command"
	contextLocal    = contextPrefix + "local"
	contextRoster   = contextPrefix + "roster"
	contextMember   = contextPrefix + "member"
	contextJoin     = contextPrefix + "join"
	contextCommit   = contextPrefix + "commit"
	contextDigits   = contextPrefix + "digits"
	contextFresh    = contextPrefix + "fresh"
	contextCode     = contextPrefix + "code"
	contextRecovery = contextPrefix + "recovery"
	contextKeys     = contextPrefix + "keys"
	contextEpoch    = contextPrefix + "epoch"
	contextHistory  = contextPrefix + "history"
	contextNames    = contextPrefix + "names"
	contextRun      = contextPrefix + "run"
	contextResponse = contextPrefix + "response"
	contextBeat     = contextPrefix + "beat"
	contextShare    = contextPrefix + "share"
	contextRead     = contextPrefix + "read"
	contextPush     = contextPrefix + "push"
	contextGrant    = contextPrefix + "grant"
	contextGuest    = contextPrefix + "guest"
)

// inContext returns the input of a signature, HMAC or hash.
func inContext(context string, text []byte) []byte {
	return append([]byte(context+"\n"), text...)
}

func hashInContext(context string, text []byte) []byte {
	sum := sha256.Sum256(inContext(context, text))
	return sum[:]
}

// maxText is the maximum size of a roster line, a statement and a message of enrolment, in bytes.
const maxText = 4096

// must returns the result of a function that cannot fail with the arguments of this package, or
// fails only if crypto/rand does, which ends the process.
func must[T any](v T, err error) T {
	if err != nil {
		panic("seal: " + err.Error())
	}
	return v
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return b
}

// encode returns the canonical form of a value of this package.
func encode(v any) []byte { return must(canonical(jsonwrite.MustEncode(v))) }

// canonical returns the canonical form of a received text.
func canonical(text []byte) ([]byte, error) {
	text, err := jcs.Canonical(text)
	if err != nil {
		return nil, refuse(BadMessage, "%v", err)
	}
	return text, nil
}

// decode reads a canonical text into v, a pointer to a struct. Encoding the result again shows
// whether the text had only known members, each once and in its only form.
func decode(text []byte, v any) error { return decodeUpTo(text, v, maxText) }

// decodeUpTo is decode with another maximum size, in bytes.
func decodeUpTo(text []byte, v any, limit int) error {
	if len(text) > limit {
		return refuse(BadMessage, "the text has %d bytes; the maximum is %d", len(text), limit)
	}
	return decodeLong(text, v)
}

// decodeLong is decode without a maximum size.
func decodeLong(text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return refuse(BadMessage, "%v", err)
	}
	if same, err := canonical(jsonwrite.MustEncode(v)); err != nil || !bytes.Equal(same, text) {
		return refuse(BadMessage, "a member is unknown or missing, or the form is not canonical")
	}
	return nil
}

// decodeForm reads a text of at most limit bytes in any JSON form into v, like decode.
func decodeForm(text []byte, v any, limit int) error {
	if len(text) > limit {
		return refuse(BadMessage, "the text has %d bytes; the maximum is %d", len(text), limit)
	}
	form, err := canonical(text)
	if err != nil {
		return err
	}
	return decodeLong(form, v)
}

// withoutSig returns the text that a canonical text with the member sig signs.
func withoutSig(text []byte) []byte { return must(jcs.CanonicalWithout(text, "sig")) }

func encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode64 decodes a binary value of n bytes. It returns nil if the text is not its only form.
func decode64(text string, n int) []byte {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != n || encode64(b) != text {
		return nil
	}
	return b
}

// form is a regular expression that is compiled when it is first used, because commands that verify
// nothing link this package, too.
type form struct{ compiled func() *regexp.Regexp }

func newForm(text string) form {
	return form{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// MatchString reports whether a text has the form.
func (f form) MatchString(text string) bool { return f.compiled().MatchString(text) }

var (
	idForm   = newForm(`^[A-Za-z0-9_-]{1,64}$`)
	hashForm = newForm(`^[0-9a-f]{64}$`)
	// originForm is the form of an origin, as browsers write it.
	originForm = newForm(`^https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)
	// invisible matches control characters and those that hide or reorder a text.
	invisible = newForm(`[\x00-\x1f\x7f-\x{9f}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]`)
)

// maxInt is the largest integer that a double represents like all smaller ones.
const maxInt = 1<<53 - 1

const timeForm = "2006-01-02T15:04:05.000Z"

func formatTime(t time.Time) string { return t.UTC().Format(timeForm) }

func parseTime(text string) (time.Time, bool) {
	t, err := time.Parse(timeForm, text)
	return t, err == nil && formatTime(t) == text
}

// checkText validates a text that people read, such as a name.
func checkText(what, text string) error {
	if text == "" || len(text) > 200 || invisible.MatchString(text) {
		return refuse(BadMessage, "%s %q must have 1 to 200 bytes and no invisible characters", what, text)
	}
	return nil
}
