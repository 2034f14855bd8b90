// Package nats carries notifications between the relay's servers over NATS. NATS stores no
// messages: a server that misses one finds the change in the database.
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

// Bus is a connection to NATS that reconnects. It is safe for concurrent use.
type Bus struct {
	conn *nats.Conn
	log  *slog.Logger
}

// The delay between two attempts to connect, and the maximum random time added to it.
const (
	retryDelay = 500 * time.Millisecond
	jitter     = 250 * time.Millisecond
)

// CheckURL validates a NATS URL. The error does not contain the URL, which may contain a password.
func CheckURL(text string) error {
	for _, one := range strings.Split(text, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			return errors.New("it is not a URL")
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("the scheme %q is not supported", u.Scheme)
		}
	}
	return nil
}

// Connect connects to one of the servers in a URL: nats://HOST:PORT, or several URLs separated by
// commas. If no server is reachable, it retries in the background. It logs each time that the
// connection is lost or restored.
func Connect(url string, log *slog.Logger) (*Bus, error) {
	b := &Bus{log: log}
	conn, err := nats.Connect(url, nats.Name("concerto-relay"), nats.NoEcho(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(retryDelay), nats.ReconnectJitter(jitter, jitter), nats.ReconnectBufSize(-1),
		nats.ConnectHandler(func(*nats.Conn) { log.Info("connected to NATS") }),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("reconnected to NATS") }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("disconnected from NATS; until it reconnects, this server polls the database every 250 ms", slog.Any("error", err))
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("messages of other servers were lost; this server finds their changes by polling the database", slog.Any("error", err))
		}))
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	if !conn.IsConnected() {
		log.Warn("could not connect to NATS; until it connects, this server polls the database every 250 ms")
	}
	b.conn = conn
	return b, nil
}

// Publish sends a message. It does not wait, and the message is lost without a connection.
func (b *Bus) Publish(subject string, body []byte) {
	_ = b.conn.Publish(subject, body) // ignore the error: receivers also poll the database
}

// Subscribe calls do for each message of other servers, one message at a time. A subject that ends
// with ">" matches all subjects with that prefix.
func (b *Bus) Subscribe(subject string, do func(subject string, body []byte)) error {
	_, err := b.conn.Subscribe(subject, func(m *nats.Msg) { do(m.Subject, m.Data) })
	return err
}

// Up reports whether the connection is open.
func (b *Bus) Up() bool { return b.conn.IsConnected() }

// Close closes the connection.
func (b *Bus) Close() { b.conn.Close() }
