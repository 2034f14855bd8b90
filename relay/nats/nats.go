// Package nats carries words between the relay's servers over NATS (its API promises nothing). NATS
// holds nothing for anybody: what is not heard is lost, and the servers find it in their database.
package nats

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Bus is a connection to NATS, which is made anew when it ends. Safe for concurrent use.
type Bus struct {
	conn *nats.Conn
	log  *slog.Logger
}

// How long is waited between two tries to connect, and at most in addition.
const (
	again  = 500 * time.Millisecond
	jitter = 250 * time.Millisecond
)

// CheckURL says what is wrong with a URL of NATS, without its text: it may hold a password.
func CheckURL(text string) error {
	for _, one := range strings.Split(text, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			return errors.New("it is no URL")
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("NATS is not spoken over %q", u.Scheme)
		}
	}
	return nil
}

// Connect connects to one of the servers of a URL, nats://HOST:PORT or several with commas between. Where
// none is there it goes on trying. The log hears when NATS goes and comes.
func Connect(url string, log *slog.Logger) (*Bus, error) {
	b := &Bus{log: log}
	conn, err := nats.Connect(url, nats.Name("concerto-relay"), nats.NoEcho(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(again), nats.ReconnectJitter(jitter, jitter), nats.ReconnectBufSize(-1),
		nats.ConnectHandler(func(*nats.Conn) { log.Info("NATS is there: servers tell each other what they do") }),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("NATS is back: servers tell each other what they do") }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("NATS is gone: until it is back this server looks into the database each quarter of a second", slog.Any("error", err))
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("words of other servers were lost; what they tell of is found by looking", slog.Any("error", err))
		}))
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	if !conn.IsConnected() {
		log.Warn("NATS is not there: until it is this server looks into the database each quarter of a second")
	}
	b.conn = conn
	return b, nil
}

// Publish sends, if NATS is there; it does not wait.
func (b *Bus) Publish(subject string, body []byte) {
	_ = b.conn.Publish(subject, body) // what is lost is looked for
}

// Subscribe hears what others publish; a subject may end with ">". do is called for one at a time.
func (b *Bus) Subscribe(subject string, do func(subject string, body []byte)) error {
	_, err := b.conn.Subscribe(subject, func(m *nats.Msg) { do(m.Subject, m.Data) })
	return err
}

// Up says whether NATS is there.
func (b *Bus) Up() bool { return b.conn.IsConnected() }

// Close ends the connection.
func (b *Bus) Close() { b.conn.Close() }
