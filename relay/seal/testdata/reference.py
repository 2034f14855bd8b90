"""A second implementation of the formats of relay/seal, in Python with the module cryptography.

    reference.py check    reads {rosters, cases} and prints the result of each case
    reference.py make N   reads {roster, keys, host, fresh_key, now, request, link} and prints N
                          cases of each of the formats command, roster, reply, digits and those
                          of sealed texts

Both read standard input and print JSON.
"""

import base64
import functools
import hashlib
import hmac
import json
import math
import random
import re
import sys
from datetime import datetime, timezone
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PREFIX = "concerto-sealed-v1 "
MAX = 2**53 - 1
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class Refusal(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


def require(condition, code="bad_message"):
    if not condition:
        raise Refusal(code)


# Canonical JSON (RFC 8785). All digits of an integer are written.


def refuse_constant(text):
    raise Refusal("bad_message")


def parse(text):
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise Refusal("bad_message") from None


ESCAPES = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def quote(text):
    out = []
    for c in text:
        n = ord(c)
        if n in ESCAPES:
            out.append(ESCAPES[n])
        elif n < 32:
            out.append("\\u%04x" % n)
        else:
            out.append("\ufffd" if 0xD800 <= n < 0xE000 else c)
    return '"' + "".join(out) + '"'


def ecmascript(value):
    """Number.prototype.toString of ECMAScript."""
    require(math.isfinite(value))
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or "0") - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    k = len(digits)
    if k <= point <= 21:
        return sign + digits + "0" * (point - k)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    e = point - 1
    return sign + digits[0] + ("." + digits[1:] if k > 1 else "") + "e" + ("+" if e > 0 else "-") + str(abs(e))


def form(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return ecmascript(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return "[" + ",".join(map(form, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(quote(name) + ":" + form(value[name]) for name in names) + "}"


def canonical(value):
    return form(value).encode()


# Basic forms.


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text, size=None):
    """Returns the bytes, or None if the text is not their only form."""
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        return None
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return data if b64(data) == text and size in (None, len(data)) else None


def sha(data):
    return hashlib.sha256(data).hexdigest()


def context(name, data):
    return (PREFIX + name + "\n").encode() + data


def mac(key, name, data):
    return hmac.new(key, context(name, data), hashlib.sha256).digest()


def is_id(text):
    return isinstance(text, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text) is not None


def is_hash(text):
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) is not None


def is_integer(value, least):
    return type(value) is int and least <= value <= MAX


def milliseconds(text):
    """Returns a time in milliseconds since 1970."""
    require(isinstance(text, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text))
    try:
        time = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    except ValueError:
        raise Refusal("bad_message") from None
    since = time - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since.days * 86400 + since.seconds) * 1000 + since.microseconds // 1000


def time_text(ms):
    return datetime.fromtimestamp(ms // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + ".%03dZ" % (ms % 1000)


INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


def check_text(text):
    require(1 <= len(text.encode()) <= 200 and not INVISIBLE.search(text))


def members(value, required, optional=None):
    """Checks the names and types of an object's members. Optional ones are not empty."""
    require(isinstance(value, dict))
    optional = optional or {}
    for name, kind in required.items():
        require(type(value.get(name)) is kind)
    for name in value:
        require(name in required or name in optional)
        if name in optional:
            require(type(value[name]) is optional[name] and (optional[name] is dict or value[name]))


def read(text, required, optional=None, limit=4096):
    """Parses a text that must be canonical."""
    require(len(text.encode()) <= limit)
    value = parse(text)
    require(canonical(value) == text.encode())
    members(value, required, optional)
    return value


# Keys.


def point(text):
    data = unb64(text, 65)
    require(data is not None and data[0] == 4)
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), data)
    except ValueError:
        raise Refusal("bad_message") from None


def verify(key, name, data, sig):
    raw = unb64(sig, 64)
    require(raw is not None, "bad_signature")
    r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    try:
        point(key).verify(encode_dss_signature(r, s), context(name, data), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise Refusal("bad_signature") from None


def sign(key, name, data):
    r, s = decode_dss_signature(key.sign(context(name, data), ec.ECDSA(hashes.SHA256())))
    return b64(r.to_bytes(32, "big") + s.to_bytes(32, "big"))


def public(key):
    return b64(key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))


def private(data):
    require(data is not None and 0 < int.from_bytes(data, "big") < ORDER)
    return ec.derive_private_key(int.from_bytes(data, "big"), ec.SECP256R1())


def device_id(sign_key):
    return "d_" + b64(hashlib.sha256(unb64(sign_key)).digest()[:16])


def read_keys(text):
    value = read(text, {"seal_key": str, "sign_key": str, "v": int})
    require(value["v"] == 1, "unsupported")
    return private(unb64(value["sign_key"], 32)), private(unb64(value["seal_key"], 32))


# Recovery.

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def code_check(bits):
    return int.from_bytes(hashlib.sha256(context("code", bits)).digest()[:2], "big") >> 4


def read_code(text):
    text = text.upper().replace("-", "").replace(" ", "")
    text = text.replace("O", "0").replace("I", "1").replace("L", "1")
    require(len(text) == 28 and all(c in LETTERS for c in text))
    n = 0
    for c in text:
        n = n * 32 + LETTERS.index(c)
    bits = (n >> 12).to_bytes(16, "big")
    require(n & 0xFFF == code_check(bits))
    return bits


def write_code(bits):
    n = int.from_bytes(bits, "big") << 12 | code_check(bits)
    text = "".join(LETTERS[n >> 5 * i & 31] for i in range(27, -1, -1))
    return "-".join(text[i : i + 4] for i in range(0, 28, 4))


def open_recovery(recovery, bits):
    key = HKDF(hashes.SHA256(), 32, None, (PREFIX + "recovery").encode()).derive(bits)
    aad = canonical([PREFIX + "recovery", recovery["sign_key"], recovery["seal_key"]])
    data = unb64(recovery["private"])
    try:
        scalars = AESGCM(key).decrypt(data[:12], data[12:], aad)
    except InvalidTag:
        raise Refusal("wrong_code") from None
    private(scalars[:32])
    private(scalars[32:])
    return canonical({"seal_key": b64(scalars[32:]), "sign_key": b64(scalars[:32]), "v": 1}).decode()


# Roster.

ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


def check_keys(value):
    point(value["seal_key"])
    point(value["sign_key"])
    require(value["seal_key"] != value["sign_key"])


def check_own(member, account):
    """Checks the part of a member that it has chosen itself."""
    check_keys(member)
    require(member["kind"] in ("device", "host") and is_id(member["id"]))
    require(member["kind"] == "host" or member["id"] == device_id(member["sign_key"]))
    own = {name: member[name] for name in ("id", "kind", "seal_key", "sign_key")}
    verify(member["sign_key"], "member", canonical({"account": account, **own}), member["own_sig"])


class Roster:
    def __init__(self, text, account="", known=None):
        self.account, self.lines, self.times, self.members, self.policy = "", [], [], [], {}
        for line in text.removesuffix("\n").split("\n"):
            self.append(line)
        require(account in ("", self.account), "wrong_request")
        require(known is None or self.has(known), "roster_fork")

    def has(self, position):
        return 0 < position["n"] <= len(self.lines) and self.lines[position["n"] - 1] == position["hash"]

    def member(self, id, n=None):
        n = len(self.lines) if n is None else n
        for m in self.members:
            if m["id"] == id and m["from"] <= n and (m["until"] is None or m["until"] > n):
                return m
        return None

    def append(self, text):
        names = dict(account=str, at=str, body=dict, by=str, kind=str, n=int, prev=str, sig=str, v=int)
        line = read(text, names)
        at = milliseconds(line["at"])
        require(line["v"] == 1 and line["n"] >= 1)
        unsigned = canonical({name: line[name] for name in line if name != "sig"})
        if not self.lines:
            self.begin(line, unsigned)
            self.account = "a_" + b64(hashlib.sha256(text.encode()).digest())
        else:
            n, have = line["n"], len(self.lines)
            require(n == 1 or line["account"] == self.account, "wrong_request")
            if n <= have and self.lines[n - 1] == sha(text.encode()):
                return
            require(n > have, "roster_fork")
            require(n == have + 1)
            require(line["prev"] == self.lines[-1], "roster_fork")
            require(at >= self.times[-1])
            self.check_signer(line, unsigned)
            self.apply(line, n)
        self.lines.append(sha(text.encode()))
        self.times.append(at)

    def begin(self, line, unsigned):
        require(line["kind"] == "genesis" and line["n"] == 1 and line["by"] == "recovery")
        require(line["account"] == "" and line["prev"] == "")
        members(line["body"], {"recovery": dict, "suite": int})
        require(line["body"]["suite"] == 1, "unsupported")
        self.recovery = line["body"]["recovery"]
        members(self.recovery, {"private": str, "seal_key": str, "sign_key": str})
        check_keys(self.recovery)
        require(unb64(self.recovery["private"], 12 + 64 + 16) is not None)
        verify(self.recovery["sign_key"], "roster", unsigned, line["sig"])

    def check_signer(self, line, unsigned):
        key = self.recovery["sign_key"]
        if line["by"] != "recovery":
            m = self.member(line["by"])
            require(m is not None, "unknown_device")
            require(m["kind"] == "device" and m["role"] == "owner", "forbidden")
            key = m["sign_key"]
        verify(key, "roster", unsigned, line["sig"])

    def apply(self, line, n):
        body = line["body"]
        if line["kind"] == "add":
            self.add(body, n)
        elif line["kind"] == "remove":
            members(body, {"id": str})
            m = self.member(body["id"])
            require(m is not None, "unknown_device")
            m["until"] = n
        elif line["kind"] == "policy":
            members(body, {"decide": dict})
            members(body["decide"], {}, {"high": str, "low": str, "medium": str})
            require(all(level in ("any", "pinned") for level in body["decide"].values()))
            self.policy = body["decide"]
        else:
            require(False, "bad_message" if line["kind"] == "genesis" else "unsupported")

    def add(self, m, n):
        names = dict(id=str, kind=str, own_sig=str, seal_key=str, sign_key=str, user=str)
        members(m, names, {"page": str, "role": str})
        check_own(m, self.account)
        check_text(m["user"])
        if m["kind"] == "host":
            require("role" not in m and "page" not in m)
        else:
            require(m.get("role") in ("viewer", "operator", "owner"))
            page = m.get("page", "")
            require(page in ("cli", "server") or ORIGIN.fullmatch(page))
        require(self.member(m["id"]) is None)
        used = {self.recovery["sign_key"], self.recovery["seal_key"]}
        for other in self.members:
            used |= {other["sign_key"], other["seal_key"]}
        require(m["sign_key"] not in used and m["seal_key"] not in used)
        self.members.append({**m, "from": n, "until": None})


# Statements.

KINDS = ("decide", "input", "keys", "stop", "resize", "rpc")


def read_statement(value):
    """Checks the form of a statement. Returns it, and the text that is signed."""
    text = canonical(value)
    require(len(text) <= 4096)
    s = parse(text)
    required = dict(account=str, at=str, content_sha256=str, host=str, id=str, kind=str, roster=dict, v=int)
    optional = dict(after=int, args_sha256=str, counter=int, decision=str, device=str, fresh=str)
    members(s, required, optional | dict(local=dict, request_sha256=str, run=str, scope=str))
    require(s["v"] == 1, "unsupported")
    require(is_id(s["account"]) and is_id(s["host"]) and is_id(s["id"]) and s["kind"] in KINDS)
    require(is_id(s["run"]) if "run" in s else s["kind"] == "rpc")
    milliseconds(s["at"])
    members(s["roster"], {"hash": str, "n": int})
    require(is_integer(s["roster"]["n"], 1) and is_hash(s["roster"]["hash"]) and is_hash(s["content_sha256"]))
    if "local" in s:
        members(s["local"], {"pid": int, "uid": int})
        require(is_integer(s["local"]["pid"], 1) and is_integer(s["local"]["uid"], 0) and s["kind"] == "decide")
        require(not {"device", "counter", "after", "fresh"} & set(s))
    else:
        require(is_id(s.get("device")) and is_integer(s.get("counter"), 1) and unb64(s.get("fresh"), 24))
        if "after" in s:
            require(s["kind"] in ("input", "keys") and 1 <= s["after"] < s["counter"])
    if s["kind"] == "decide":
        require(s.get("decision") in ("approve", "deny") and s.get("scope") in ("once", "session"))
        require(is_hash(s.get("request_sha256")) and ("args_sha256" not in s or is_hash(s["args_sha256"])))
    else:
        require(not {"decision", "scope", "request_sha256", "args_sha256"} & set(s))
    return s, text


def read_content(text):
    content = parse(text)
    members(content, {"data": dict, "salt": str})
    require(unb64(content["salt"], 16) is not None)
    return content["data"]


def age(fresh, key, now):
    """Returns the age of a token in milliseconds."""
    token = unb64(fresh, 24)
    require(hmac.compare_digest(mac(key, "fresh", token[:8])[:16], token[8:]), "stale")
    return now - int.from_bytes(token[:8], "big")


def most_ms(kind, data):
    """Returns the maximum age of a statement in milliseconds."""
    if kind in ("input", "stop"):
        ttl = data.get("ttl_s", 900)
        ttl = 900 if ttl is None else ttl
        require(type(ttl) is int and 1 <= ttl <= 86400)
        return ttl * 1000
    return {"decide": 86_400_000, "rpc": 900_000}.get(kind, 60_000)


def member_of(roster, s):
    """Returns the device of a statement."""
    device = roster.member(s.get("device"))
    require(device is not None and device["kind"] == "device", "unknown_device")
    require(device["from"] <= s["roster"]["n"], "unknown_device")
    return device


def check_command(roster, c, signer=member_of):
    s, text = read_statement(c["command"]["statement"])
    require(s["roster"]["n"] <= len(roster.lines), "roster_fork")
    device = signer(roster, s)
    host = roster.member(c["host"])
    require(host is not None and host["kind"] == "host", "forbidden")
    require(device["role"] != "viewer", "forbidden")
    request = c.get("request")
    if request and s["kind"] == "decide":
        level = roster.policy.get(request["risk"] or "high", "any")
        require(level == "any" or device["page"] != "server", "page_not_trusted")
    require(roster.has(s["roster"]), "roster_fork")
    verify(device["sign_key"], "command", text, c["command"]["sig"])
    content = canonical(c["command"]["content"])
    require(sha(content) == s["content_sha256"], "bad_signature")
    data = read_content(content)
    envelope = [roster.account, c["host"], c["kind"], c.get("run", ""), c["id"]]
    require([s["account"], s["host"], s["kind"], s.get("run", ""), s["id"]] == envelope, "wrong_request")

    state = c.get("state") or {"high": 0, "used": b64(bytes(128))}
    high, used = state["high"], int.from_bytes(unb64(state["used"], 128), "little")
    inputs = dict(state.get("inputs", {}))
    counter = s["counter"]
    require(counter > high - 1024, "replayed")
    require(counter > high or not used >> counter % 1024 & 1, "replayed")
    ordered = s["kind"] in ("input", "keys")
    require(not ordered or s.get("after", 0) == inputs.get(s["run"], 0), "reordered")
    most = most_ms(s["kind"], data)
    require(-5000 <= age(s["fresh"], unb64(c["fresh_key"], 32), c["now"]) <= most, "stale")
    if s["kind"] == "decide":
        require(request, "unknown_request")
        hashes_ = s["request_sha256"], s.get("args_sha256", "")
        require(hashes_ == (request["sha256"], request["args_sha256"]), "args_changed")

    for n in range(max(high + 1, counter - 1023), counter):
        used &= ~(1 << n % 1024)
    used |= 1 << counter % 1024
    if ordered:
        inputs[s["run"]] = counter
    after = {"high": max(high, counter), "used": b64(used.to_bytes(128, "little"))}
    if inputs:
        after["inputs"] = inputs
    return {"device": device["id"], "data": form(data), "state": form(after)}


def check_ledger(roster, c):
    s, text = read_statement(c["signed"]["statement"])
    kind, id, name = ("host", s["host"], "local") if "local" in s else ("device", s["device"], "command")
    guest = c["signed"].get("guest")
    if guest:
        require("local" not in s, "wrong_request")
        m = check_guest(roster, s, guest, c["now"])
    else:
        m = roster.member(id, s["roster"]["n"])
        require(m is not None and m["kind"] == kind, "unknown_device")
        require(m.get("role") != "viewer", "forbidden")
        require(not was_removed(roster, m, c["now"]), "unknown_device")
    require(roster.has(s["roster"]), "roster_fork")
    verify(m["sign_key"], name, text, c["signed"]["sig"])
    require(s["kind"] == "decide" and s["account"] == roster.account, "wrong_request")
    require(s.get("args_sha256", "") == c.get("args_sha256", ""), "args_changed")
    return {"device": s.get("device", ""), "local": "local" in s, "decision": s["decision"]}


# Enrolment.


def origin(url):
    try:
        u = urlsplit(url)
        require(u.scheme in ("http", "https") and "@" not in u.netloc)
        text = (u.scheme + "://" + u.netloc).lower()
        text = text.removesuffix({"http": ":80", "https": ":443"}[u.scheme])
    except ValueError:
        raise Refusal("bad_message") from None
    require(ORIGIN.fullmatch(text))
    return text


def read_link(text):
    require(len(text.encode()) <= 4096)
    page, _, fragment = text.partition("#/join/")
    parts = fragment.split(".")
    require(len(parts) == 5)
    account, session, secret, expires, server = parts
    secret, server = unb64(secret, 32), unb64(server)
    require(is_id(account) and is_id(session) and secret is not None and server is not None)
    require(re.fullmatch(r"0|[1-9][0-9]{0,15}", expires) and int(expires) <= MAX // 1000)
    server = server.decode("utf-8", "replace")
    member_page = "server" if origin(page) == origin(server) else origin(page)
    return {
        "page": page, "account": account, "session": session, "secret": b64(secret), "expires": int(expires),
        "server": server, "member_page": member_page,
    }


REPLY = ("account", "id", "kind", "name", "own_sig", "seal_key", "session", "sign_key")


def check_reply(c):
    link = read_link(c["link"])
    r = read(c["text"], {name: str for name in REPLY} | {"v": int}, {"mac": str})
    require(r["v"] == 1, "unsupported")
    unsigned = canonical({name: r[name] for name in r if name != "mac"})
    given = unb64(r.get("mac"), 32) or b""
    require(hmac.compare_digest(given, mac(unb64(link["secret"]), "join", unsigned)), "bad_signature")
    require(r["account"] == link["account"] and r["session"] == link["session"], "wrong_request")
    require(c["now"] < link["expires"] * 1000, "expired")
    check_text(r["name"])
    check_own(r, link["account"])
    return {"id": r["id"], "kind": r["kind"], "name": r["name"]}


JOIN = dict(id=str, kind=str, name=str, nonce=str, seal_key=str, session=str, side=str, sign_key=str, v=int)


def six_digits(add, join):
    text = canonical([parse(add), parse(join)])
    return "%06d" % (int.from_bytes(hashlib.sha256(context("digits", text)).digest()[:8], "big") % 1_000_000)


def commitment(reveal):
    return b64(hashlib.sha256(context("commit", reveal.encode())).digest())


def check_digits(c):
    add_commit, join_commit, add_reveal, join_reveal, confirm = c["messages"]

    def peer(m, side):
        require(m["v"] == 1, "unsupported")
        require(m["session"] == c["session"] and m["side"] == side, "wrong_request")

    commits = []
    for text, side in ((join_commit, "join"), (add_commit, "add")):
        m = read(text, dict(commit=str, session=str, side=str, v=int))
        peer(m, side)
        require(unb64(m["commit"], 32) is not None)
        commits.append(m["commit"])
    add = read(add_reveal, dict(account=str, nonce=str, roster=dict, session=str, side=str, v=int))
    peer(add, "add")
    require(unb64(add["nonce"], 32) is not None)
    require(commitment(add_reveal) == commits[1], "bad_signature")
    members(add["roster"], {"hash": str, "n": int})
    require(is_id(add["account"]) and is_integer(add["roster"]["n"], 1) and is_hash(add["roster"]["hash"]))
    join = read(join_reveal, JOIN)
    peer(join, "join")
    require(unb64(join["nonce"], 32) is not None)
    require(commitment(join_reveal) == commits[0], "bad_signature")
    check_text(join["name"])
    m = read(confirm, dict(own_sig=str, session=str, side=str, v=int))
    peer(m, "join")
    check_own(join | {"own_sig": m["own_sig"]}, c["account"])
    return {
        "digits": six_digits(add_reveal, join_reveal), "account": add["account"], "n": add["roster"]["n"],
        "name": join["name"], "id": join["id"],
    }


# Sealed texts. HPKE is that of RFC 9180: base mode, DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and
# AES-256-GCM.


def extract(salt, key):
    return hmac.new(salt or bytes(32), key, hashlib.sha256).digest()


def expand(key, info, size):
    out, block = b"", b""
    for i in range(1, -(-size // 32) + 1):
        block = hmac.new(key, block + info + bytes([i]), hashlib.sha256).digest()
        out += block
    return out[:size]


KEM = b"KEM" + (0x10).to_bytes(2, "big")
HPKE = b"HPKE" + b"".join(n.to_bytes(2, "big") for n in (0x10, 1, 2))


def labeled_extract(suite, salt, label, key):
    return extract(salt, b"HPKE-v1" + suite + label + key)


def labeled_expand(suite, key, label, info, size):
    return expand(key, size.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, size)


def hpke(shared, enc, recipient, info):
    """Returns the cipher of a context, and its first nonce."""
    eae = labeled_extract(KEM, b"", b"eae_prk", shared)
    secret = labeled_expand(KEM, eae, b"shared_secret", enc + recipient, 32)
    context = b"\0" + labeled_extract(HPKE, b"", b"psk_id_hash", b"") + labeled_extract(HPKE, b"", b"info_hash", info)
    secret = labeled_extract(HPKE, secret, b"secret", b"")
    key = labeled_expand(HPKE, secret, b"key", context, 32)
    return AESGCM(key), labeled_expand(HPKE, secret, b"base_nonce", context, 12)


def wrap(seal_key, aad, text):
    own = ec.generate_private_key(ec.SECP256R1())
    enc = unb64(public(own))
    cipher, nonce = hpke(own.exchange(ec.ECDH(), point(seal_key)), enc, unb64(seal_key), (PREFIX + "keys").encode())
    return {"enc": b64(enc), "ct": b64(cipher.encrypt(nonce, text, aad))}


def unwrap(key, w, aad):
    enc = unb64(w["enc"], 65)
    try:
        shared = key.exchange(ec.ECDH(), point(w["enc"]))
        cipher, nonce = hpke(shared, enc, unb64(public(key)), (PREFIX + "keys").encode())
        return cipher.decrypt(nonce, unb64(w["ct"]), aad)
    except (Refusal, InvalidTag):
        raise Refusal("bad_signature") from None


def derive(key, *info):
    return HKDF(hashes.SHA256(), 32, None, canonical([PREFIX + info[0], *info[1:]])).derive(key)


def padme(n):
    n += 1
    e = n.bit_length() - 1
    step = 1 << e - e.bit_length()
    return max(256, -(-n // step) * step)


def place(*parts):
    return canonical([PREFIX.strip(), *parts])


def seal(key, place, text, size=padme):
    nonce = random.randbytes(12)
    padded = (text + b"\x80").ljust(size(len(text)), b"\0")
    return b64(nonce + AESGCM(key).encrypt(nonce, padded, place))


def sealed(ct):
    """Returns the bytes of a sealed text, or None if it has the wrong form."""
    data = unb64(ct) if isinstance(ct, str) and len(ct) <= (4 << 20) - 4096 else None
    return data if data is not None and len(data) >= 12 + 256 + 16 else None


def open_sealed(key, place, ct, size=padme):
    data = sealed(ct)
    require(data is not None)
    try:
        padded = AESGCM(key).decrypt(data[:12], data[12:], place)
    except InvalidTag:
        raise Refusal("bad_signature") from None
    text = padded.rstrip(b"\0")
    require(text.endswith(b"\x80") and size(len(text) - 1) == len(padded))
    return text[:-1]


def plain(data, limit=1 << 62):
    """Parses an opened text, which must be canonical."""
    require(len(data) <= limit)
    try:
        value = parse(data.decode())
    except ValueError:
        raise Refusal("bad_message") from None
    require(canonical(value) == data)
    return value


def is_tag(text):
    return unb64(text, 16) is not None


def tag(ct):
    return b64(unb64(ct)[-16:])


def without_sig(value):
    return {name: value[name] for name in value if name != "sig"}


# Epochs.


def check_key_record(roster, c):
    names = dict(account=str, at=str, epoch=int, host=str, names=str, prev=str, roster=dict, v=int, wraps=list)
    k = read(c["text"], names, {"sig": str}, 1 << 20)
    members(k["roster"], {"hash": str, "n": int})
    for w in k["wraps"]:
        members(w, dict(ct=str, enc=str, to=str))
    require(k["v"] == 1, "unsupported")
    at = milliseconds(k["at"])
    require(is_integer(k["epoch"], 1) and (k["epoch"] > 1 or k["prev"] == ""))
    require(k["prev"] == "" or is_hash(k["prev"]))
    require(k["account"] == roster.account and k["host"] == c["host"], "wrong_request")
    require(roster.has(k["roster"]), "roster_fork")
    n = k["roster"]["n"]
    host = roster.member(c["host"], n)
    require(host is not None and host["kind"] == "host", "unknown_device")
    require(host["until"] is None or roster.times[host["until"] - 1] >= at, "unknown_device")
    verify(host["sign_key"], "epoch", canonical(without_sig(k)), k.get("sig"))
    devices = [m["id"] for m in roster.members if m["kind"] == "device" and roster.member(m["id"], n) is m]
    require([w["to"] for w in k["wraps"]] == devices + ["recovery"], "unknown_device")
    for w in k["wraps"]:
        size = 32 if w["to"] == "recovery" else 64
        require(unb64(w["enc"], 65) is not None and unb64(w["ct"], size + 16) is not None)
    require(sealed(k["names"]) is not None)
    position = {"n": k["epoch"], "hash": sha(c["text"].encode()), "roster": n}
    known = c.get("known_epoch")
    if known is not None and position != known:
        require(k["epoch"] >= known["n"], "old_epoch")
        require(k["epoch"] > known["n"] and k["prev"] == known["hash"], "roster_fork")
        require(n >= known["roster"], "roster_fork")
    return k, position


def open_key_record(roster, c):
    seal_key = read_keys(c["keys"])[1]
    k, position = check_key_record(roster, c)
    mine = [w for w in k["wraps"] if w["to"] == c["to"]]
    require(mine, "unknown_device")
    text = unwrap(seal_key, mine[0], canonical([k["account"], k["host"], k["epoch"], k["roster"]["n"], c["to"]]))
    e = {"account": k["account"], "host": k["host"], "epoch": k["epoch"], "secret": b64(text[:32])}
    e |= {"at": k["at"], "roster": k["roster"]["n"]}
    if c["to"] != "recovery":
        e["commands"] = {c["to"]: b64(text[32:])}
    names = open_sealed(derive(text[:32], "names"), place("names", k["account"], k["host"], k["epoch"]), k["names"])
    names = plain(names, 1 << 20)
    require(isinstance(names, dict))
    for id, name in names.items():
        require(is_id(id) and isinstance(name, str))
        check_text(name)
    return {"epoch": e, "names": names, "position": position}


def open_history(roster, c):
    seal_key = read_keys(c["keys"])[1]
    names = dict(account=str, by=str, ct=str, enc=str, epochs=list, host=str, to=str, v=int)
    h = read(c["text"], names, {"sig": str}, 1 << 20)
    require(all(type(n) is int for n in h["epochs"]))
    require(h["v"] == 1, "unsupported")
    require([h["account"], h["host"], h["to"]] == [roster.account, c["host"], c["to"]], "wrong_request")
    by = roster.member(h["by"])
    require(by is not None, "unknown_device")
    require(by.get("role") == "owner" or by["kind"] == "host" and by["id"] == c["host"], "forbidden")
    verify(by["sign_key"], "history", canonical(without_sig(h)), h.get("sig"))
    require(h["epochs"] and unb64(h["enc"], 65) is not None)
    require(unb64(h["ct"], 32 * len(h["epochs"]) + 16) is not None)
    require(all(is_integer(n, 1) for n in h["epochs"]))
    require(all(a < b for a, b in zip(h["epochs"], h["epochs"][1:])))
    text = unwrap(seal_key, h, canonical([h["account"], h["host"], h["epochs"], h["to"]]))
    common = {"account": h["account"], "host": h["host"]}
    return {"epochs": [common | {"epoch": n, "secret": b64(text[32 * i : 32 * i + 32])} for i, n in enumerate(h["epochs"])]}


# Events.

VISIBLE = {
    "run.started": None, "run.output": None, "run.input": "input_id", "run.permission_requested": "request_id",
    "run.permission_resolved": "request_id", "run.exited": None, "run.gap": None,
}


def is_type(text):
    return isinstance(text, str) and re.fullmatch(r"[a-z0-9_.]{1,64}", text) is not None


def visible(plaintext):
    """Returns type, ts, request_id, input_id and from of an event as the server sees them."""
    milliseconds(plaintext["ts"])
    require(is_type(plaintext["type"]))
    ids, first = {"request_id": "", "input_id": ""}, 0
    id = VISIBLE.get(plaintext["type"])
    if id:
        require(is_id(plaintext["data"].get(id)))
        ids[id] = plaintext["data"][id]
    if plaintext["type"] == "run.gap":
        first = plaintext["data"].get("from")
        require(is_integer(first, 1))
    shown = plaintext["type"] if plaintext["type"] in VISIBLE else "run.sealed"
    return [shown, plaintext["ts"], ids["request_id"], ids["input_id"], first]


def epoch_of(epochs, n):
    for e in epochs:
        if e["epoch"] == n:
            return e
    raise Refusal("old_epoch")


def event_place(epoch, e):
    d = e["data"]
    ids = [d.get("request_id", ""), d.get("input_id", ""), d["prev"]]
    return place("event", epoch["account"], epoch["host"], e["run_id"], e["seq"], e["type"], e["enc"]["epoch"], *ids)


def open_event(e, epochs):
    members(e["enc"], {"epoch": int, "v": int})
    optional = {"request_id": str, "input_id": str, "from": int}
    members({n: e["data"][n] for n in e["data"] if n != "push"}, {"ct": str, "prev": str}, optional)
    d = e["data"]
    require(e["enc"]["v"] == 1, "unsupported")
    require(is_integer(e["enc"]["epoch"], 1) and is_integer(e["seq"], 1) and is_type(e["type"]) and is_id(e["run_id"]))
    require(all(n not in d or is_id(d[n]) for n in ("request_id", "input_id")))
    require((e["type"] == "run.gap") == ("from" in d) and 0 < d.get("from", 1) <= e["seq"])
    require(sealed(d["ct"]) is not None and (d["prev"] == "" or is_tag(d["prev"])))
    epoch = epoch_of(epochs, e["enc"]["epoch"])
    text = plain(open_sealed(derive(unb64(epoch["secret"]), "run", e["run_id"]), event_place(epoch, e), d["ct"]))
    members(text, {"data": dict, "ts": str, "type": str})
    shown = [e["type"], e["ts"], d.get("request_id", ""), d.get("input_id", ""), d.get("from", 0)]
    require(visible(text) == shown, "bad_signature")
    return text


EMPTY = {"seq": 0, "tag": "", "head": "", "sha256": "", "from": 0}


def extend(chain, epoch, e):
    before = bytes.fromhex(chain["sha256"]) or bytes(32)
    total = sha(before + event_place(epoch, e) + b"\n" + unb64(e["data"]["ct"]))
    return chain | {"seq": e["seq"], "tag": tag(e["data"]["ct"]), "sha256": total}


def check_mark(epoch, e, text, host):
    m = text["data"]
    require(len(canonical(m)) <= 4096)
    optional = {"from": int, "reason": str, "tag": str, "fresh": str, "sig": str}
    members(m, {"prev_head": str, "sha256": str, "to": int}, optional)
    require(is_hash(m["sha256"]) and (m["prev_head"] == "" or is_hash(m["prev_head"])))
    if text["type"] == "run.head":
        require(not {"from", "reason", "tag"} & set(m) and m["to"] == e["seq"] - 1 >= 1)
        require(unb64(m.get("fresh"), 24) is not None)
    else:
        require(1 <= m.get("from", 0) <= m["to"] == e["seq"] and is_type(m.get("reason")))
        require(is_tag(m.get("tag")) and "fresh" not in m)
    signed = canonical([epoch["account"], epoch["host"], e["run_id"], without_sig(m)])
    verify(host["sign_key"], text["type"], signed, m.get("sig"))
    return m


def follow(chain, epoch, e, text, host):
    """Returns the chain with an event, and the first and last event that it confirms, or None."""
    first, m = e["seq"], None
    if text["type"] in ("run.head", "run.gap"):
        m = check_mark(epoch, e, text, host)
        first = m.get("from", first)
    require(e["seq"] > chain["seq"], "replayed")
    require(first <= chain["seq"] or first == chain["seq"] + 1 and e["data"]["prev"] == chain["tag"], "reordered")
    if m is None:
        return extend(chain, epoch, e), None
    if text["type"] == "run.gap":
        return {"seq": m["to"], "tag": m["tag"], "head": m["prev_head"], "sha256": m["sha256"], "from": m["to"] + 1}, None
    confirmed = None
    if not chain.get("partial"):
        require([m["sha256"], m["prev_head"]] == [chain["sha256"], chain["head"]], "bad_signature")
        confirmed = [chain["from"] or 1, m["to"]] if chain["from"] <= m["to"] else None
    return extend(EMPTY | {"head": sha(canonical(m)), "from": e["seq"]}, epoch, e), confirmed


def host_of(roster, id):
    return [m for m in roster.members if m["kind"] == "host" and m["id"] == id][-1]


def check_chain(roster, c):
    chain, confirmed = c.get("chain", EMPTY), []
    for e in c["events"]:
        text = open_event(e, c["epochs"])
        epoch = epoch_of(c["epochs"], e["enc"]["epoch"])
        chain, span = follow(chain, epoch, e, text, host_of(roster, c["host"]))
        confirmed += [span] if span else []
    return {"chain": form(chain), "confirmed": confirmed}


def check_beat(roster, c):
    names = dict(account=str, ends=dict, fresh=str, host=str, v=int)
    b = read(c["text"], names, {"sig": str}, 256 << 10)
    for end in b["ends"].values():
        members(end, {"seq": int, "tag": str})
    require(b["v"] == 1, "unsupported")
    fresh = unb64(b["fresh"], 24)
    require(fresh is not None)
    require([b["account"], b["host"]] == [roster.account, c["host"]], "wrong_request")
    verify(host_of(roster, c["host"])["sign_key"], "beat", canonical(without_sig(b)), b.get("sig"))
    time = int.from_bytes(fresh[:8], "big")
    require(time > c["now"], "replayed")
    for run, end in b["ends"].items():
        require(is_id(run) and is_integer(end["seq"], 1) and is_tag(end["tag"]))
    end, chain = b["ends"].get(c.get("run")), c.get("chain")
    if chain and end:
        same = chain["seq"] > end["seq"] or chain["seq"] == end["seq"] and chain["tag"] == end["tag"]
        require(same, "reordered")
    return {"time": time, "ends": form(b["ends"])}


# Sealed commands.


def read_epoch(c):
    """Returns the sealed command of a case, and its epoch."""
    s = parse(c["text"])
    members(s, dict(ct=str, device=str, epoch=int, id=str))
    require(is_id(s["id"]) and is_id(s["device"]) and is_integer(s["epoch"], 1) and sealed(s["ct"]) is not None)
    epoch = epoch_of(c["epochs"], s["epoch"])
    for later in c["epochs"][c["epochs"].index(epoch) + 1 :][:1]:
        require(c["now"] - milliseconds(later["at"]) < 86_400_000, "old_epoch")
    return s, epoch


def read_sealed_command(c):
    s, epoch = read_epoch(c)
    key = unb64(epoch["commands"].get(s["device"]))
    require(key is not None, "unknown_device")
    return s, epoch, key


def command_place(name, epoch, run, kind, s):
    return place(name, epoch["account"], epoch["host"], run, kind, epoch["epoch"], s["id"], s["device"])


def open_command(c):
    s, epoch, key = read_sealed_command(c)
    command = plain(open_sealed(key, command_place("command", epoch, c["run"], c["kind"], s), s["ct"]))
    members(command, {"content": dict, "sig": str, "statement": dict})
    require(command["statement"].get("device") == s["device"], "wrong_request")
    return {"command": form(command)}


def open_response(c):
    s, epoch, key = read_sealed_command(c)
    key = derive(key, "response", s["id"], tag(s["ct"]))
    data = plain(open_sealed(key, command_place("response", epoch, c["run"], "rpc", s), c["ct"]))
    require(isinstance(data, dict))
    return {"data": form(data)}


# Guests.

GRANT = dict(account=str, at=str, by=str, expires=str, host=str, page=str, roster=dict, runs=list, share=str, v=int)


def was_removed(roster, m, at):
    """Reports whether a member was removed before a time in milliseconds."""
    return any(x["sign_key"] == m["sign_key"] and x["until"] is not None and roster.times[x["until"] - 1] < at for x in roster.members)


def read_grant(roster, value):
    """Returns a verified grant, and the member that has signed it."""
    text = canonical(parse(value) if isinstance(value, str) else value)
    require(len(text) <= 4096)
    g = parse(text)
    members(g, GRANT, {"sig": str})
    members(g["roster"], {"hash": str, "n": int})
    require(g["v"] == 1, "unsupported")
    at, until = milliseconds(g["at"]), milliseconds(g["expires"])
    require(at < until and is_id(g["share"]) and 1 <= len(g["runs"]) <= 100)
    require(all(isinstance(run, str) and is_id(run) for run in g["runs"]))
    require(g["page"] == "server" or ORIGIN.fullmatch(g["page"]))
    require(g["account"] == roster.account, "wrong_request")
    require(roster.has(g["roster"]), "roster_fork")
    by = roster.member(g["by"], g["roster"]["n"])
    require(by is not None and not was_removed(roster, by, at), "unknown_device")
    require(by.get("role") == "owner", "forbidden")
    verify(by["sign_key"], "grant", canonical(without_sig(g)), g.get("sig"))
    return g, by


def guest_text(account, host, share, guest):
    return canonical([account, host, share, guest["sign_key"]])


def guest_of(roster, s, guest, now):
    """Returns the guest of a statement, and its grant."""
    grant, by = read_grant(roster, guest["grant"])
    id = device_id(guest["sign_key"])
    require(s.get("device") == id, "unknown_device")
    require(s["host"] == grant["host"] and s.get("run") in grant["runs"] and s["kind"] == "decide" and s["scope"] == "once", "forbidden")
    require(not was_removed(roster, by, now) and now < milliseconds(grant["expires"]), "unknown_device")
    m = {"id": id, "kind": "device", "sign_key": guest["sign_key"], "role": "approver", "user": "guest of " + by["user"], "page": grant["page"]}
    return m, grant


def live_guest(roster, s, guest, now):
    """Returns the guest of a command, whose decision must verify in a ledger."""
    m, grant = guest_of(roster, s, guest, now)
    host = roster.member(s["host"])
    require(roster.member(grant["by"]) is not None, "unknown_device")
    require(host == roster.member(s["host"], s["roster"]["n"]), "unknown_device")
    require(all(x["sign_key"] != m["sign_key"] for x in roster.members), "unknown_device")
    return m


def check_guest(roster, s, guest, now):
    """Checks the guest of a decision in a ledger."""
    m, grant = guest_of(roster, s, guest, now)
    require(not was_removed(roster, m, now), "unknown_device")
    host = roster.member(s["host"], s["roster"]["n"])
    require(host is not None and host["kind"] == "host" and not was_removed(roster, host, now), "unknown_device")
    require("mac" not in guest, "bad_signature")
    verify(host["sign_key"], "guest", guest_text(roster.account, s["host"], grant["share"], guest), guest.get("sig"))
    return m


def guest_command_key(key, epoch):
    return derive(key, "guest", epoch["epoch"])


def open_guest(roster, c):
    key, s, epoch = unb64(c["secret"], 32), *read_epoch(c)
    text = open_sealed(guest_command_key(key, epoch), command_place("command", epoch, c["run"], c["kind"], s), s["ct"])
    command = plain(text)
    members(command, {"content": dict, "sig": str, "statement": dict}, {"guest": dict})
    guest = command.get("guest")
    require(guest is not None)
    members(guest, {"sign_key": str}, {"mac": str, "grant": dict, "sig": str})
    require("grant" not in guest and "sig" not in guest and point(guest["sign_key"]) is not None)
    own = mac(key, "guest", guest_text(epoch["account"], epoch["host"], s["device"], guest))
    require(hmac.compare_digest(unb64(guest.get("mac"), 32) or b"", own), "bad_signature")
    require(command["statement"].get("device") == device_id(guest["sign_key"]), "wrong_request")
    member = lambda roster, s: live_guest(roster, s, {"sign_key": guest["sign_key"], "grant": c["grant"]}, c["now"])
    checked = check_command(roster, c | {"command": command}, member)
    m = member(roster, read_statement(command["statement"])[0])
    return {"device": m["id"], "user": m["user"], "page": m["page"], "data": checked["data"]}


def share_id(secret):
    return "s_" + b64(derive(secret, "share")[:16])


def share_place(s):
    return place("share", s["account"], s["host"], s["share"])


def open_share(c):
    secret = unb64(c["secret"], 32)
    s = read(c["text"], dict(account=str, ct=str, host=str, share=str, v=int), {}, 1 << 20)
    require(s["v"] == 1, "unsupported")
    require(is_id(s["account"]) and is_id(s["host"]) and is_id(s["share"]) and sealed(s["ct"]) is not None)
    require(s["share"] == share_id(secret), "wrong_request")
    p = plain(open_sealed(derive(secret, "read"), share_place(s), s["ct"]), 1 << 20)
    members(p, {"keys": dict, "sign_key": str}, {"roster": dict})
    if "roster" in p:
        members(p["roster"], {"hash": str, "n": int})
        require(is_integer(p["roster"]["n"], 1) and is_hash(p["roster"]["hash"]))
    require(point(p["sign_key"]) is not None and 1 <= len(p["keys"]) <= 100)
    for run, keys in p["keys"].items():
        require(is_id(run) and isinstance(keys, dict) and keys)
        for n, key in keys.items():
            require(re.fullmatch("[1-9][0-9]{0,15}", n) and int(n) <= MAX and isinstance(key, str) and unb64(key, 32) is not None)
    return {"account": s["account"], "host": s["host"], "shared": p}


# Notices.

of_push = lambda n: 512


def push_key(epoch, c):
    key = unb64(epoch["commands"].get(c["to"]))
    require(key is not None, "unknown_device")
    parts = (epoch["account"], epoch["host"], c["run"], epoch["epoch"], c["kind"], c.get("id", ""), c["to"])
    return derive(key, "push"), place("push", *parts)


def open_push(c):
    key, at = push_key(c["epochs"][0], c)
    notice = plain(open_sealed(key, at, c["ct"], of_push), 4096)
    require(isinstance(notice, dict))
    members(notice, {"summary": str, "title": str, "ts": str})
    milliseconds(notice["ts"])
    return {"notice": form(notice)}


# Passkeys.


def open_passkey(c):
    p = read(c["text"], {"v": int, "account": str, "device": str, "credential": str, "ct": str})
    require(p["v"] == 1, "unsupported")
    require(p["account"] == c["account"], "wrong_request")
    key = derive(unb64(c["fresh_key"]), "passkey")
    data = open_sealed(key, place("passkey", p["account"], p["device"]), p["ct"])
    content = plain(data, 4096)
    require(isinstance(content, dict))
    members(content, {"name": str, "private": dict, "sign_key": str, "seal_key": str})
    keys = form(content["private"])
    sign_key, seal_key = map(public, read_keys(keys))
    require((sign_key, seal_key) == (content["sign_key"], content["seal_key"]) and device_id(sign_key) == p["device"])
    check_text(content["name"])
    return {"keys": keys, "name": content["name"]}


# Commands of this program.

verified = functools.lru_cache(Roster)


def run(format, c, rosters):
    if format == "canonical":
        text = canonical(parse(c["text"]))
        return {"text": text.decode(), "sha256": sha(text)}
    if format == "keys":
        sign_key, seal_key = map(public, read_keys(c["text"]))
        return {"sign_key": sign_key, "seal_key": seal_key, "device": device_id(sign_key)}
    if format == "recovery_code":
        bits = read_code(c["text"])
        return {"bits": bits.hex(), "text": write_code(bits)}
    if format == "recovery":
        return {"keys": open_recovery(verified(rosters[c["roster"]]).recovery, read_code(c["recovery_code"]))}
    if format == "roster":
        text = rosters.get(c.get("roster"), "") + c.get("text", "")
        r = Roster(text, c.get("account", ""), c.get("known"))
        present = [m["id"] for m in r.members if m["until"] is None]
        return {"account": r.account, "n": len(r.lines), "hash": r.lines[-1], "members": present}
    if format == "command":
        return check_command(verified(rosters[c["roster"]]), c)
    if format == "ledger":
        return check_ledger(verified(rosters[c["roster"]]), c)
    of_roster = {"key_record": open_key_record, "history": open_history, "chain": check_chain, "beat": check_beat, "guest": open_guest}
    if format in of_roster:
        return of_roster[format](verified(rosters[c["roster"]]), c)
    return {
        "link": lambda c: read_link(c["text"]), "reply": check_reply, "digits": check_digits,
        "event": lambda c: open_event(c["events"][0], c["epochs"]) | {"data": form(open_event(c["events"][0], c["epochs"])["data"])},
        "sealed_command": open_command, "response": open_response, "share": open_share, "push": open_push, "passkey": open_passkey,
    }[format](c)


def check(data):
    results = []
    for case in data["cases"]:
        try:
            results.append({"out": run(case["format"], case["in"], data["rosters"])})
        except Refusal as e:
            results.append({"code": e.code})
    return results


def new_member(account, kind="device", id=None):
    sign_key, seal_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    m = {"kind": kind, "sign_key": public(sign_key), "seal_key": public(seal_key)}
    m["id"] = id or device_id(m["sign_key"])
    own = canonical({"account": account, **m})
    return m | {"own_sig": sign(sign_key, "member", own)}


def random_text():
    return "".join(chr(random.choice((random.randrange(32, 127), random.randrange(0xA1, 0x2000), 0x1F600))) for _ in range(random.randrange(1, 20)))


def make_command(w, roster, i, guest=None):
    name = random.choice(["cli", "phone", "browser"])
    sign_key = guest or read_keys(w["keys"][name])[0]
    kind = "decide" if guest else random.choice(KINDS)
    data = {random_text(): random.choice([None, True, -1.5e-9 * i, i, [random_text()]])}
    content = {"data": data, "salt": b64(random.randbytes(16))}
    line = random.randrange(roster.member(w["host"] if guest else device_id(public(sign_key)))["from"], len(roster.lines) + 1)
    token = (w["now"] - random.randrange(60_000)).to_bytes(8, "big")
    token += mac(unb64(w["fresh_key"]), "fresh", token)[:16]
    s = {
        "v": 1, "account": roster.account, "host": w["host"], "run": "run_1", "kind": kind, "id": "req_%d" % i,
        "device": device_id(public(sign_key)), "counter": random.randrange(1, MAX), "fresh": b64(token),
        "at": time_text(w["now"]), "roster": {"n": line, "hash": roster.lines[line - 1]},
        "content_sha256": sha(canonical(content)),
    }
    c = {"roster": "main", "host": w["host"], "fresh_key": w["fresh_key"], "kind": kind, "run": s["run"], "id": s["id"], "now": w["now"]}
    if kind == "decide":
        s |= {"decision": random.choice(["approve", "deny"]), "scope": "once" if guest else random.choice(["once", "session"])}
        s |= {"request_sha256": w["request"]["sha256"], "args_sha256": w["request"]["args_sha256"]}
        c["request"] = w["request"]
    c["command"] = {"statement": s, "sig": sign(sign_key, "command", canonical(s)), "content": content}
    return c


def make_line(w, roster, i):
    by = random.choice(["cli", "phone"])
    sign_key = read_keys(w["keys"][by])[0]
    m = new_member(roster.account) | {"user": random_text(), "role": random.choice(["viewer", "operator", "owner"]), "page": random.choice(["cli", "server", "https://a.example:8443"])}
    if i % 4 == 0:
        m = new_member(roster.account, "host", "host_%d" % i) | {"user": random_text()}
    body = {"add": m, "remove": {"id": device_id(public(sign_key))}, "policy": {"decide": {"medium": "pinned"}}}
    kind = random.choice(list(body))
    line = {
        "v": 1, "account": roster.account, "n": len(roster.lines) + 1, "prev": roster.lines[-1], "kind": kind,
        "at": time_text(w["now"]), "body": body[kind], "by": device_id(public(sign_key)),
    }
    line["sig"] = sign(sign_key, "roster", canonical(line))
    return {"roster": "main", "text": form(line) + "\n"}


def make_reply(w):
    link = read_link(w["link"])
    r = {"v": 1, "account": link["account"], "session": link["session"], "name": random_text(), **new_member(link["account"])}
    r["mac"] = b64(mac(unb64(link["secret"]), "join", canonical(r)))
    return {"text": form(r), "link": w["link"], "now": w["now"]}


def make_digits(roster):
    session = "j_" + b64(random.randbytes(16))
    m = new_member(roster.account)
    head = {"n": len(roster.lines), "hash": roster.lines[-1]}
    common = {"v": 1, "session": session}
    add = common | {"side": "add", "account": roster.account, "roster": head, "nonce": b64(random.randbytes(32))}
    join = common | {"side": "join", "name": random_text(), "nonce": b64(random.randbytes(32))} | m
    own_sig = join.pop("own_sig")
    reveals = [form(add), form(join)]
    commits = [form(common | {"side": s, "commit": commitment(r)}) for s, r in zip(("add", "join"), reveals)]
    confirm = form(common | {"side": "join", "own_sig": own_sig})
    return {"session": session, "account": roster.account, "messages": commits + reveals + [confirm]}


def make_key_record(w, roster, i):
    host = read_keys(w["keys"]["host"])[0]
    secret, ids = random.randbytes(32), [m for m in roster.members if m["kind"] == "device" and m["until"] is None]
    k = {
        "v": 1, "account": roster.account, "host": w["host"], "epoch": i + 1, "prev": sha(b"%d" % i) if i else "",
        "roster": {"n": len(roster.lines), "hash": roster.lines[-1]}, "at": time_text(w["now"] - random.randrange(10**6)),
    }
    aad = lambda to: canonical([roster.account, w["host"], i + 1, len(roster.lines), to])
    k["wraps"] = [{"to": m["id"], **wrap(m["seal_key"], aad(m["id"]), secret + random.randbytes(32))} for m in ids]
    k["wraps"].append({"to": "recovery", **wrap(roster.recovery["seal_key"], aad("recovery"), secret)})
    names = canonical({m["id"]: random_text() for m in ids})
    k["names"] = seal(derive(secret, "names"), place("names", roster.account, w["host"], i + 1), names)
    k["sig"] = sign(host, "epoch", canonical(k))
    name = random.choice(["cli", "phone", "browser", "guest"])
    to = device_id(public(read_keys(w["keys"][name])[0]))
    c = {"roster": "main", "host": w["host"], "text": form(k), "to": to, "keys": w["keys"][name]}
    return c | ({"known_epoch": {"n": i, "hash": k["prev"], "roster": 1}} if i else {})


def make_history(w, roster):
    by = random.choice(["host", "cli", "phone"])
    sign_key = read_keys(w["keys"][by])[0]
    guest, guest_seal = read_keys(w["keys"]["guest"])
    h = {
        "v": 1, "account": roster.account, "host": w["host"], "to": device_id(public(guest)),
        "by": w["host"] if by == "host" else device_id(public(sign_key)),
        "epochs": sorted(random.sample(range(1, 99), random.randrange(1, 9))),
    }
    aad = canonical([roster.account, w["host"], h["epochs"], h["to"]])
    h |= wrap(public(guest_seal), aad, random.randbytes(32 * len(h["epochs"])))
    h["sig"] = sign(sign_key, "history", canonical(h))
    return {"roster": "main", "host": w["host"], "text": form(h), "to": h["to"], "keys": w["keys"]["guest"]}


def make_epoch(w, roster):
    ids = [m["id"] for m in roster.members if m["kind"] == "device" and m["until"] is None]
    return {
        "account": roster.account, "host": w["host"], "epoch": random.randrange(1, MAX), "secret": b64(random.randbytes(32)),
        "commands": {id: b64(random.randbytes(32)) for id in ids}, "at": time_text(w["now"]),
    }


def make_event(epoch, chain, typ, ts, data):
    text = {"type": typ, "ts": ts, "data": data}
    shown, _, request_id, input_id, _ = visible(text)
    e = {"type": shown, "ts": ts, "run_id": "run_1", "seq": chain["seq"] + 1, "enc": {"v": 1, "epoch": epoch["epoch"]}}
    e["data"] = {"prev": chain["tag"]}
    e["data"] |= {"request_id": request_id} if request_id else {}
    e["data"] |= {"input_id": input_id} if input_id else {}
    e["data"]["ct"] = seal(derive(unb64(epoch["secret"]), "run", "run_1"), event_place(epoch, e), canonical(text))
    return e


def make_events(w, roster):
    """Returns events of a run, with a head at the end."""
    epoch, host = make_epoch(w, roster), read_keys(w["keys"]["host"])[0]
    chain, events, token = EMPTY, [], w["now"].to_bytes(8, "big") + bytes(16)
    for i in range(random.randrange(1, 5)):
        typ = random.choice([*set(VISIBLE) - {"run.gap"}, "run.emit", "tool.call"])
        data = {"request_id": "req_%d" % i, "input_id": "in_%d" % i, random_text(): random_text() * random.randrange(200)}
        events.append(make_event(epoch, chain, typ, time_text(w["now"]), data))
        chain = extend(chain, epoch, events[-1])
    head = {"to": chain["seq"], "sha256": chain["sha256"], "prev_head": "", "fresh": b64(token)}
    head["sig"] = sign(host, "run.head", canonical([epoch["account"], epoch["host"], "run_1", head]))
    events.append(make_event(epoch, chain, "run.head", time_text(w["now"]), head))
    return epoch, events


def make_beat(w, roster):
    host, ends = read_keys(w["keys"]["host"])[0], range(random.randrange(5))
    token = w["now"].to_bytes(8, "big") + random.randbytes(16)
    b = {"v": 1, "account": roster.account, "host": w["host"], "fresh": b64(token)}
    b["ends"] = {"run_%d" % i: {"seq": random.randrange(1, MAX), "tag": b64(random.randbytes(16))} for i in ends}
    b["sig"] = sign(host, "beat", canonical(b))
    return {"roster": "main", "host": w["host"], "text": form(b), "now": w["now"] - 20_000}


def make_sealed_command(w, roster, i):
    c, epoch = make_command(w, roster, i), make_epoch(w, roster)
    device = c["command"]["statement"]["device"]
    s = {"id": c["id"], "device": device, "epoch": epoch["epoch"]}
    key = unb64(epoch["commands"][device])
    s["ct"] = seal(key, command_place("command", epoch, c["run"], c["kind"], s), canonical(c["command"]))
    common = {"roster": "main", "epochs": [epoch], "text": form(s), "run": c["run"], "now": w["now"]}
    response = canonical({"ok": True, "result": {random_text(): i}})
    ct = seal(derive(key, "response", s["id"], tag(s["ct"])), command_place("response", epoch, c["run"], "rpc", s), response)
    return common | {"kind": c["kind"]}, common | {"ct": ct}


def make_share(w, roster, i):
    secret, host = random.randbytes(32), public(read_keys(w["keys"]["host"])[0])
    s = {"v": 1, "account": roster.account, "host": w["host"], "share": share_id(secret)}
    keys = {"run_%d" % n: {str(i + 1 + e): b64(random.randbytes(32)) for e in range(3)} for n in range(1 + i % 3)}
    s["ct"] = seal(derive(secret, "read"), share_place(s), canonical({"keys": keys, "sign_key": host}))
    return {"roster": "main", "secret": b64(secret), "text": form(s)}


def make_guest(w, roster, i):
    epoch, secret, link = make_epoch(w, roster), random.randbytes(32), ec.generate_private_key(ec.SECP256R1())
    c = make_command(w, roster, i, link)
    key, share = derive(secret, "guest"), share_id(secret)
    guest = {"sign_key": public(link)}
    guest["mac"] = b64(mac(key, "guest", guest_text(epoch["account"], epoch["host"], share, guest)))
    s = {"id": c["id"], "device": share, "epoch": epoch["epoch"]}
    place_ = command_place("command", epoch, c["run"], c["kind"], s)
    s["ct"] = seal(guest_command_key(key, epoch), place_, canonical(c["command"] | {"guest": guest}))
    by = roster.member(random.choice([m["id"] for m in roster.members if m.get("role") == "owner"]))
    name = next(x for x in w["keys"] if public(read_keys(w["keys"][x])[0]) == by["sign_key"])
    g = {"v": 1, "account": roster.account, "host": w["host"], "share": share, "runs": [c["run"]], "page": "https://pages.example", "by": by["id"]}
    g |= {"at": time_text(w["now"] - 1000), "expires": time_text(w["now"] + 1 + i), "roster": {"n": len(roster.lines), "hash": roster.lines[-1]}}
    g["sig"] = sign(read_keys(w["keys"][name])[0], "grant", canonical(g))
    return c | {"command": None, "epochs": [epoch], "secret": b64(key), "text": form(s), "grant": form(g)}


def make_push(w, roster, i):
    epoch = make_epoch(w, roster)
    to = random.choice(list(epoch["commands"]))
    c = {"roster": "main", "epochs": [epoch], "kind": "run.permission_resolved", "run": "run_1", "id": "req_%d" % i, "to": to}
    notice = {"summary": random_text(), "title": random_text(), "ts": time_text(w["now"])}
    return c | {"ct": seal(*push_key(epoch, c), canonical(notice), of_push)}


def make_passkey(w, roster):
    keys = random.choice(list(w["keys"].values()))
    sign_key, seal_key = map(public, read_keys(keys))
    prf, p = random.randbytes(32), {"v": 1, "account": roster.account, "device": device_id(sign_key), "credential": b64(random.randbytes(16))}
    content = {"name": random_text(), "private": json.loads(keys), "sign_key": sign_key, "seal_key": seal_key}
    p["ct"] = seal(derive(prf, "passkey"), place("passkey", p["account"], p["device"]), canonical(content))
    return {"account": roster.account, "fresh_key": b64(prf), "text": form(p)}


def make_sealed(w, roster, i):
    epoch, events = make_events(w, roster)
    command, response = make_sealed_command(w, roster, i)
    chain = {"roster": "main", "host": w["host"], "epochs": [epoch], "events": events}
    return (
        ("key_record", make_key_record(w, roster, i)), ("history", make_history(w, roster)),
        ("event", chain | {"events": events[:1]}), ("chain", chain), ("beat", make_beat(w, roster)),
        ("sealed_command", command), ("response", response), ("share", make_share(w, roster, i)), ("push", make_push(w, roster, i)),
        ("guest", make_guest(w, roster, i)), ("passkey", make_passkey(w, roster)),
    )


def make(w, n):
    roster = Roster(w["roster"])
    cases = []
    for i in range(n):
        made = (
            ("command", make_command(w, roster, i)), ("roster", make_line(w, roster, i)),
            ("reply", make_reply(w)), ("digits", make_digits(roster)), *make_sealed(w, roster, i),
        )
        cases += [{"name": "%s %d" % (f, i), "format": f, "in": c} for f, c in made]
    data = {"rosters": {"main": w["roster"]}, "cases": cases}
    for case, result in zip(cases, check(data)):
        case |= result
    return data


if __name__ == "__main__":
    data = json.load(sys.stdin)
    result = check(data) if sys.argv[1] == "check" else make(data, int(sys.argv[2]))
    json.dump(result, sys.stdout)
