package webtest

import (
	"net"
	"net/http/httptest"
)

// listen makes an unstarted server listen on the given address instead of a free port.
func listen(h *httptest.Server, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if err := h.Listener.Close(); err != nil {
		return err
	}
	h.Listener = l
	return nil
}
