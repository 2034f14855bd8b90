package effect

import "strings"

// Numbered is a request or a result with the number of something that an effect has opened: an
// exchange, a stream, a call. A performer chooses the numbers; a recorded run replaces them with
// the effect's own.
type Numbered interface{ Number() *int64 }

// Family returns what the number of a request's kind is of: the kind without its last word. Numbers
// of different families have nothing to do with one another.
func (k Kind) Family() string { return string(k)[:max(strings.LastIndexByte(string(k), '.'), 0)] }

// Number returns the exchange's.
func (r *ExchangeOpened) Number() *int64 { return &r.ID }

// Number returns the exchange's.
func (r *ExchangeNext) Number() *int64 { return &r.ID }

// Number returns the exchange's.
func (r *ExchangeReply) Number() *int64 { return &r.ID }

// Number returns the exchange's.
func (r *ExchangeClose) Number() *int64 { return &r.ID }

// Number returns the stream's.
func (r *StreamOpened) Number() *int64 { return &r.ID }

// Number returns the stream's.
func (r *StreamNext) Number() *int64 { return &r.ID }

// Number returns the stream's.
func (r *StreamClose) Number() *int64 { return &r.ID }

// Number returns the call's.
func (r *MCPOpened) Number() *int64 { return &r.ID }

// Number returns the call's.
func (r *MCPNext) Number() *int64 { return &r.ID }

// Number returns the call's.
func (r *MCPReply) Number() *int64 { return &r.ID }

// Number returns the prepared call's.
func (r *AppQuestion) Number() *int64 { return &r.ID }

// Number returns the prepared call's.
func (r *AppLeave) Number() *int64 { return &r.ID }

// Number returns the recorded call's.
func (r *AuditCalled) Number() *int64 { return &r.ID }

// Number returns the recorded call's.
func (r *AuditDone) Number() *int64 { return &r.ID }
