// Package attach speaks the attach protocol (docs/rings.md, "Attaching") on a SOCK_SEQPACKET Unix socket.
//
//	conn, err := attach.Dial(ctx, "/run/rdma-engine/attach.sock")
//	offer, err := attach.Ask(conn, &hello)        // the engine's welcome, with descriptors
//	… map offer.Segment …
//	err = attach.Confirm(conn)                    // MAPPED, then ATTACHED
package attach

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Message is any fixed message of the protocol.
type Message interface {
	layout.AttachHello | layout.AttachWelcome | layout.AttachSignal | layout.AttachRefused | layout.AttachClient
}

// Bytes are the bytes of a message, in place.
func Bytes[M Message](m *M) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(m)), unsafe.Sizeof(*m))
}

// Text is zero-padded text.
func Text(padded []byte) string {
	text, _, _ := bytes.Cut(padded, []byte{0})
	return string(bytes.ToValidUTF8(text, []byte("?")))
}

// packet is one received message.
type packet struct {
	raw []byte
	fds []int
}

func (p *packet) close() {
	for _, fd := range p.fds {
		_ = unix.Close(fd)
	}
	p.fds = nil
}

// kind checks magic and size, and gives the type.
func (p *packet) kind() (kind uint16, err error) {
	var signal layout.AttachSignal
	if len(p.raw) < layout.AttachSignalSize {
		return 0, fmt.Errorf("message of %d bytes: want at least %d", len(p.raw), layout.AttachSignalSize)
	}
	copy(Bytes(&signal), p.raw)
	if signal.Magic != layout.AttachMagic {
		return 0, fmt.Errorf("magic = %#x: want %#x", signal.Magic, uint32(layout.AttachMagic))
	}
	if int(signal.Size) != len(p.raw) {
		return 0, fmt.Errorf("size = %d in a message of %d bytes", signal.Size, len(p.raw))
	}
	return signal.Type, nil
}

// decode copies the packet into a message of exactly its size.
func decode[M Message](p *packet, m *M) error {
	if to := Bytes(m); len(to) == len(p.raw) {
		copy(to, p.raw)
		return nil
	}
	return fmt.Errorf("size = %d: want %d", len(p.raw), len(Bytes(m)))
}

const maxDescriptors = 253 // of one message: the kernel's limit

// receive takes one message with its descriptors, which are close-on-exec.
func receive(conn *net.UnixConn) (*packet, error) {
	raw := make([]byte, 1024)
	oob := make([]byte, unix.CmsgSpace(4*maxDescriptors))
	n, oobn, flags, _, err := conn.ReadMsgUnix(raw, oob)
	if err != nil {
		return nil, err
	}
	p := &packet{raw: raw[:n]}
	if oobn > 0 {
		controls, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return nil, fmt.Errorf("control message: %w", err)
		}
		for i := range controls {
			if fds, err := unix.ParseUnixRights(&controls[i]); err == nil {
				p.fds = append(p.fds, fds...)
			}
		}
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		p.close()
		return nil, errors.New("message is longer than any of the protocol")
	}
	return p, nil
}
