package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// Subscription is a subscription of a browser to push messages.
type Subscription struct {
	Endpoint string `json:"-"`
	User     string `json:"-"`
	Token    string `json:"token"` // id of the token or session that created the subscription
	P256dh   string `json:"p256dh"`
	Auth     string `json:"auth"`
	Created  int64  `json:"created"` // in Unix ms
	// Devices has the browser's devices in accounts (relay/seal). They are a hint of the browser:
	// only the device with the right keys can open a body.
	Devices []string `json:"devices,omitempty"`
}

// AddSubscription stores a subscription or replaces its keys. If its devices are nil, the stored
// ones remain. Requests that were open before the
// first subscription cause no messages. AddSubscription returns ErrTooMany if the user has most
// subscriptions, and ErrConflict if the endpoint belongs to another user.
func (s *Store) AddSubscription(ctx context.Context, sub Subscription, most int) error {
	return s.change(ctx, func(tx database) error {
		if err := s.lockUsers(ctx, tx); err != nil {
			return err
		}
		if err := sub.addDevices(ctx, s, tx); err != nil {
			return err
		}
		text, err := json.Marshal(sub)
		if err != nil {
			return err
		}
		var all, own int
		err = tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(CASE WHEN user_name = $1 THEN 1 ELSE 0 END), 0) FROM push WHERE endpoint <> $2`, sub.User, sub.Endpoint).Scan(&all, &own)
		switch {
		case err != nil:
			return s.wrapError("count subscriptions", err)
		case own >= most:
			return fmt.Errorf("subscriptions: %w", ErrTooMany)
		}
		done, err := tx.ExecContext(ctx, `INSERT INTO push (endpoint, user_name, data_json) VALUES ($1, $2, $3)
			ON CONFLICT (endpoint) DO UPDATE SET data_json = excluded.data_json WHERE push.user_name = excluded.user_name`, sub.Endpoint, sub.User, string(text))
		if err := s.requireChange(done, err, "store a subscription", "subscription"); errors.Is(err, ErrUnknown) {
			return fmt.Errorf("subscription: %w", ErrConflict)
		} else if err != nil || all > 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO notices (run_id, request_id, sent) SELECT run_id, request_id, 1 FROM requests WHERE state IN ('open', 'decided') ON CONFLICT DO NOTHING`)
		return s.wrapError("mark open requests as notified", err)
	})
}

// addDevices sets the devices to those of the stored subscription, if they are nil.
func (sub *Subscription) addDevices(ctx context.Context, s *Store, tx database) error {
	if sub.Devices != nil {
		return nil
	}
	var text string
	var was Subscription
	err := tx.QueryRowContext(ctx, `SELECT data_json FROM push WHERE endpoint = $1 AND user_name = $2`, sub.Endpoint, sub.User).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &was)
	}
	sub.Devices = was.Devices
	return s.wrapError("read a subscription", err)
}

// RemoveSubscription removes a subscription of a user. If user is "", it may belong to any user.
// RemoveSubscription returns ErrUnknown if there is none.
func (s *Store) RemoveSubscription(ctx context.Context, user, endpoint string) error {
	return s.change(ctx, func(tx database) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM push WHERE endpoint = $1 AND (user_name = $2 OR $2 = '')`, endpoint, user)
		return s.requireChange(done, err, "remove a subscription", "subscription")
	})
}

// Subscriptions returns all subscriptions.
func (s *Store) Subscriptions(ctx context.Context) (out []*Subscription, err error) {
	err = s.each(ctx, `SELECT endpoint, user_name, data_json FROM push ORDER BY endpoint`, nil, func(r row) error {
		var sub Subscription
		var text string
		if err := r.Scan(&sub.Endpoint, &sub.User, &text); err != nil {
			return err
		}
		out = append(out, &sub)
		return json.Unmarshal([]byte(text), &sub)
	})
	return out, err
}

// Notice records that a message about a request was sent or is being sent.
type Notice struct {
	RequestID string
	Sent      bool // every push service has responded
}

// Notices returns the notices of a run.
func (s *Store) Notices(ctx context.Context, run string) (out []Notice, err error) {
	err = s.each(ctx, `SELECT request_id, sent FROM notices WHERE run_id = $1 ORDER BY request_id`, []any{run}, func(r row) error {
		var n Notice
		var sent int64
		err := r.Scan(&n.RequestID, &sent)
		n.Sent = sent != 0
		out = append(out, n)
		return err
	})
	return out, err
}

// ClaimNotice creates the notice of a request. It returns false if the notice exists, because
// another server then sends the message.
func (s *Store) ClaimNotice(ctx context.Context, run, request string) (fresh bool, err error) {
	return s.changed(ctx, "note a request", `INSERT INTO notices (run_id, request_id, sent) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING`, run, request)
}

// MarkNoticeSent records that every push service has responded to the message about a request.
func (s *Store) MarkNoticeSent(ctx context.Context, run, request string) error {
	_, err := s.changed(ctx, "mark a notification as sent", `UPDATE notices SET sent = 1 WHERE run_id = $1 AND request_id = $2`, run, request)
	return err
}

// RemoveNotice removes a notice. It returns false if the notice does not exist.
func (s *Store) RemoveNotice(ctx context.Context, run, request string) (was bool, err error) {
	return s.changed(ctx, "remove a notification", `DELETE FROM notices WHERE run_id = $1 AND request_id = $2`, run, request)
}

func (s *Store) changed(ctx context.Context, doing, text string, args ...any) (some bool, err error) {
	err = s.change(ctx, func(tx database) error {
		done, err := tx.ExecContext(ctx, text, args...)
		if err == nil {
			var n int64
			n, err = done.RowsAffected()
			some = n > 0
		}
		return s.wrapError(doing, err)
	})
	return some, err
}

// RecordStarter records the user who started a run.
func (s *Store) RecordStarter(ctx context.Context, run, user string) error {
	_, err := s.changed(ctx, "note who has started a run", `INSERT INTO starts (run_id, user_name) VALUES ($1, $2) ON CONFLICT DO NOTHING`, run, user)
	return err
}

// TakeStarter removes the record of the user who started a run and returns that user, or "".
func (s *Store) TakeStarter(ctx context.Context, run string) (user string, err error) {
	err = s.reader().QueryRowContext(ctx, `SELECT user_name FROM starts WHERE run_id = $1`, run).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", s.wrapError("read who has started a run", err)
	}
	if was, err := s.changed(ctx, "remove the starter of a run", `DELETE FROM starts WHERE run_id = $1`, run); err != nil || !was {
		return "", err
	}
	return user, nil
}

// RunsToNotify returns the runs about which messages may be pending. These are runs with open
// requests, runs with notices, and ended runs that a user started.
func (s *Store) RunsToNotify(ctx context.Context) (out []string, err error) {
	err = s.each(ctx, `SELECT run_id FROM requests WHERE state IN ('open', 'decided') UNION SELECT run_id FROM notices
		UNION SELECT run_id FROM starts WHERE run_id IN (SELECT id FROM runs WHERE status = 'exited')`, nil, func(r row) error {
		var run string
		err := r.Scan(&run)
		out = append(out, run)
		return err
	})
	return out, err
}

// PushBodies has the sealed bodies of an event for push messages.
type PushBodies struct {
	Epoch  int64             `json:"epoch"`
	Bodies map[string]string `json:"bodies"` // by device
}

// insertBodies stores the bodies of an event, if any browser is subscribed.
func (b *batch) insertBodies(e *Event, bodies map[string]string) error {
	all := PushBodies{Bodies: bodies}
	if err := json.Unmarshal(e.enc(), &all); err != nil || all.Epoch == 0 {
		return nil // no browser has keys of such an event
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	_, err = b.tx.ExecContext(b.ctx, `INSERT INTO push_bodies (run_id, request_id, type, data_json) SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM push) ON CONFLICT DO NOTHING`,
		e.RunID, e.text("request_id"), e.Type, string(text))
	return b.s.wrapError("store the bodies of push messages", err)
}

// ReadPushBodies returns the bodies of a request, its outcome, or the end of a run, for which the
// request is "". It returns nil if there are none.
func ReadPushBodies(ctx context.Context, s *Store, run, request, typ string) (*PushBodies, error) {
	var text string
	err := s.reader().QueryRowContext(ctx, `SELECT data_json FROM push_bodies WHERE run_id = $1 AND request_id = $2 AND type = $3`, run, request, typ).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, s.wrapError("read the bodies of push messages", err)
	}
	out := &PushBodies{}
	return out, json.Unmarshal([]byte(text), out)
}

// RemovePushBodies removes the bodies of a request and its outcome.
func RemovePushBodies(ctx context.Context, s *Store, run, request string) error {
	_, err := s.changed(ctx, "remove the bodies of push messages", `DELETE FROM push_bodies WHERE run_id = $1 AND request_id = $2`, run, request)
	return err
}
