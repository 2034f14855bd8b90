package webtest

import (
	"net"
	"net/http/httptest"
)

// listen has a server listen at an address instead of one that is free.
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
