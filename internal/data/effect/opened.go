package effect

import "strings"

// Numbered is a request or a result that contains the number of an opened object: an exchange, a
// stream or a call. A performer assigns the number. A recorded run replaces it with the number of
// the effect that opened the object.
type Numbered interface{ Number() *int64 }

// Family returns the kind without its last word. Numbers of objects are unique within a family, but
// not across families.
func (k Kind) Family() string { return string(k)[:max(strings.LastIndexByte(string(k), '.'), 0)] }

// Number returns a pointer to the number of the exchange.
func (r *ExchangeOpened) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the exchange.
func (r *ExchangeNext) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the exchange.
func (r *ExchangeReply) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the exchange.
func (r *ExchangeSteer) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the exchange.
func (r *ExchangeContinue) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the exchange.
func (r *ExchangeGate) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the exchange.
func (r *ExchangeClose) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the stream.
func (r *StreamOpened) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the stream.
func (r *StreamNext) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the stream.
func (r *StreamClose) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the call.
func (r *MCPOpened) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the call.
func (r *MCPNext) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the call.
func (r *MCPReply) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the prepared call.
func (r *AppQuestion) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the prepared call.
func (r *AppLeave) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the recorded call.
func (r *AuditCalled) Number() *int64 { return &r.ID }

// Number returns a pointer to the number of the recorded call.
func (r *AuditDone) Number() *int64 { return &r.ID }
