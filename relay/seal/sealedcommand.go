package seal

import "encoding/json"

// SealedCommand is the data of a command as the server has it. The frame has the run and the kind.
type SealedCommand struct {
	ID     string `json:"id"` // that of the statement
	Device string `json:"device"`
	Epoch  int64  `json:"epoch"`
	CT     string `json:"ct"`
}

// ParseSealedCommand reads the data of a command. The error is a *Refusal.
func ParseSealedCommand(data []byte) (*SealedCommand, error) {
	c := &SealedCommand{}
	if err := decodeForm(data, c, maxFrame); err != nil {
		return nil, err
	}
	return c, c.check()
}

func (c *SealedCommand) check() error {
	if !idForm.MatchString(c.ID) || !idForm.MatchString(c.Device) || c.Epoch < 1 || c.Epoch > maxInt || decodeSealed(c.CT) == nil {
		return refuse(BadMessage, "id, device, epoch or ct of the command has the wrong form")
	}
	return nil
}

// commandKey returns the command key of a device.
func (e *Epoch) commandKey(device string) (Key, error) {
	key, ok := e.Commands[device]
	if !ok {
		return Key{}, refuse(UnknownDevice, "device %q has no keys of epoch %d", device, e.N)
	}
	return key, nil
}

// place returns the additional data of a command or, with the purpose response, of its response.
func (e *Epoch) place(purpose, run, kind string, c *SealedCommand) []byte {
	return place(purpose, e.Account, e.Host, run, kind, e.N, c.ID, c.Device)
}

// SealCommand seals a command of a device. The error is a *Refusal.
func (e *Epoch) SealCommand(c Command) (*SealedCommand, error) {
	s, _, err := c.read()
	if err != nil {
		return nil, err
	}
	key, err := e.commandKey(s.Device)
	if err != nil {
		return nil, err
	}
	out := &SealedCommand{ID: s.ID, Device: s.Device, Epoch: e.N}
	out.CT, err = sealText(key.aead(), e.place("command", s.Run, s.Kind, out), encode(c))
	return out, err
}

// OpenCommand opens a command of the run and kind that its frame has, on the host. The epoch is
// that of CommandEpoch. The caller then checks the command with a Checker. The error is a *Refusal.
func (e *Epoch) OpenCommand(run, kind string, s *SealedCommand) (c Command, err error) {
	if err := e.checkCommand(s); err != nil {
		return c, err
	}
	key, err := e.commandKey(s.Device)
	if err != nil {
		return c, err
	}
	if c, err = e.openWith(key, run, kind, s); err != nil {
		return c, err
	}
	if c.Guest != nil || c.DeviceOf() != s.Device {
		return c, refuse(WrongRequest, "the statement is not by device %s, whose command key sealed it", s.Device)
	}
	return c, nil
}

func (e *Epoch) checkCommand(s *SealedCommand) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.Epoch != e.N {
		return refuse(OldEpoch, "the command is for epoch %d, not %d", s.Epoch, e.N)
	}
	return nil
}

// openWith opens a command that was sealed with a key.
func (e *Epoch) openWith(key Key, run, kind string, s *SealedCommand) (c Command, err error) {
	text, err := openText(key.aead(), e.place("command", run, kind, s), s.CT)
	if err != nil {
		return c, err
	}
	return c, decodeLong(text, &c)
}

// responseKey returns the key of the responses to one command.
func (e *Epoch) responseKey(s *SealedCommand) (Key, error) {
	if err := s.check(); err != nil {
		return Key{}, err
	}
	key, err := e.commandKey(s.Device)
	return key.derive(contextResponse, s.ID, tagOf(s.CT)), err
}

// SealResponse returns the ct of the response to an RPC, whose data are an object. s is the command
// that the host has opened. The error is a *Refusal.
func (e *Epoch) SealResponse(run string, s *SealedCommand, data json.RawMessage) (string, error) {
	key, err := e.responseKey(s)
	if err != nil {
		return "", err
	}
	text, err := canonical(data)
	if err != nil {
		return "", err
	}
	return sealText(key.aead(), e.place("response", run, KindRPC, s), text)
}

// OpenResponse returns the data of the response to the RPC s, on the device that has sent it. The
// error is a *Refusal.
func (e *Epoch) OpenResponse(run string, s *SealedCommand, ct string) (json.RawMessage, error) {
	key, err := e.responseKey(s)
	if err != nil {
		return nil, err
	}
	text, err := openText(key.aead(), e.place("response", run, KindRPC, s), ct)
	if err != nil {
		return nil, err
	}
	var data map[string]json.RawMessage
	if err := decodeLong(text, &data); err != nil || data == nil {
		return nil, refuse(BadMessage, "the response is no object in canonical form")
	}
	return text, nil
}
