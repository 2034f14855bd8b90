package seal

import (
	"crypto/hmac"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Link is an invitation to an account that reaches the new member as a QR code. Its secret is in
// the fragment of the URL, which browsers send to no server.
type Link struct {
	Page    string // URL of the page that the new member opens, without a fragment
	Account string
	Session string // id of the enrolment
	Secret  []byte // 32 bytes
	Expires time.Time
	Server  string // URL of the relay
}

const (
	joinFragment = "#/join/"
	secretSize   = 32
)

// NewLink returns a link with a random session and secret.
func NewLink(page, account, server string, expires time.Time) *Link {
	return &Link{Page: page, Account: account, Server: server, Session: NewSession(), Expires: expires, Secret: randomBytes(secretSize)}
}

// NewSession returns a random id of an enrolment.
func NewSession() string { return "j_" + encode64(randomBytes(16)) }

// String returns the URL.
func (l *Link) String() string {
	return l.Page + joinFragment + strings.Join([]string{l.Account, l.Session, encode64(l.Secret), strconv.FormatInt(l.Expires.Unix(), 10), encode64([]byte(l.Server))}, ".")
}

// ParseLink reads a link. Its error is a *Refusal.
func ParseLink(text string) (*Link, error) {
	page, fragment, _ := strings.Cut(text, joinFragment)
	parts := strings.Split(fragment, ".")
	if len(parts) != 5 || len(text) > maxText {
		return nil, refuse(BadMessage, "the link has no fragment /join/ with five parts")
	}
	seconds, err := strconv.ParseInt(parts[3], 10, 64)
	server := decode64(parts[4], len(parts[4])*3/4)
	l := &Link{Page: page, Account: parts[0], Session: parts[1], Secret: decode64(parts[2], secretSize), Expires: time.Unix(seconds, 0), Server: string(server)}
	if err != nil || seconds < 0 || seconds > maxInt/1000 || !idForm.MatchString(l.Account) || !idForm.MatchString(l.Session) || l.Secret == nil {
		return nil, refuse(BadMessage, "the account, session, secret or expiry of the link has the wrong form")
	}
	if originOf(page) == "" || originOf(l.Server) == "" || l.String() != text {
		return nil, refuse(BadMessage, "the link's page and server must be URLs with https or http")
	}
	return l, nil
}

// MemberPage returns the page of a browser that uses the link, for the roster: PageServer if the
// relay serves it, otherwise its origin.
func (l *Link) MemberPage() string {
	if origin := originOf(l.Page); origin != originOf(l.Server) {
		return origin
	}
	return PageServer
}

// originOf returns the origin of a URL as browsers write it, or "" if it has none.
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User != nil {
		return ""
	}
	origin := strings.ToLower(u.Scheme + "://" + u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		origin = strings.TrimSuffix(origin, port)
	}
	if !originForm.MatchString(origin) {
		return ""
	}
	return origin
}

// reply is the message of a new member that has opened a link.
type reply struct {
	V       int64  `json:"v"`
	Account string `json:"account"`
	Session string `json:"session"`
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	PublicKeys
	OwnSig string `json:"own_sig"`
	MAC    string `json:"mac,omitempty"`
}

// mac returns the HMAC of the message under the link's secret.
func (l *Link) mac(r reply) []byte {
	r.MAC = ""
	return hmacInContext(l.Secret, contextJoin, encode(r))
}

// Reply returns the message that a new member, created with NewMember, sends to the side that adds
// it. name is shown to the user there. Its error is a *Refusal, with Expired after the expiry.
func (l *Link) Reply(m Member, name string, now time.Time) ([]byte, error) {
	r := reply{V: 1, Account: l.Account, Session: l.Session, Kind: m.Kind, ID: m.ID, Name: name, PublicKeys: m.PublicKeys, OwnSig: m.OwnSig}
	r.MAC = encode64(l.mac(r))
	text := encode(r)
	_, _, err := l.Accept(text, now)
	return text, err
}

// Accept verifies the reply of a new member, on the side that has created the link. It returns the
// member, whose user, role and page the caller sets, and its name. Its error is a *Refusal. The
// caller accepts one reply only.
func (l *Link) Accept(text []byte, now time.Time) (m Member, name string, err error) {
	var r reply
	if err := decode(text, &r); err != nil {
		return m, "", err
	}
	switch {
	case r.V != 1:
		return m, "", refuse(Unsupported, "the reply has version %d", r.V)
	case !hmac.Equal(decode64(r.MAC, secretSize), l.mac(r)):
		return m, "", refuse(BadSignature, "the reply is not by the device that has opened the link")
	case r.Account != l.Account || r.Session != l.Session:
		return m, "", refuse(WrongRequest, "the reply is for another account or session")
	case !now.Before(l.Expires):
		return m, "", refuse(Expired, "the link expired at %s: create another", formatTime(l.Expires))
	}
	if err := checkText("name", r.Name); err != nil {
		return m, "", err
	}
	m = Member{Kind: r.Kind, ID: r.ID, PublicKeys: r.PublicKeys, OwnSig: r.OwnSig}
	return m, r.Name, m.checkOwn(l.Account)
}
