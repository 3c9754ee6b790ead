package pgproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
)

const (
	headSize    = 5
	lengthSize  = 4
	maxMessage  = 1 << 30
	sslRequest  = 80877103
	gssRequest  = 80877104
	greetingMin = 8
)

// The kinds of messages that more than one place knows.
const (
	parseKind    = 'P'
	bindKind     = 'B'
	executeKind  = 'E'
	queryKind    = 'Q'
	syncKind     = 'S'
	backendKind  = 'K'
	parsedKind   = '1'
	completeKind = 'C'
	errorKind    = 'E'
	readyKind    = 'Z'
)

// readMessage reads a message and also appends it to what is gathered.
func readMessage(from *bufio.Reader, gathered *bytes.Buffer) (byte, []byte, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length < lengthSize || length > maxMessage {
		return 0, nil, fmt.Errorf("a message %q of %d bytes", head[0], length)
	}
	payload := make([]byte, length-lengthSize)
	if _, err := io.ReadFull(from, payload); err != nil {
		return 0, nil, err
	}
	gathered.Write(head[:])
	gathered.Write(payload)
	return head[0], payload, nil
}

// relayGreeting passes the first message on, which has no kind. It denies encryption. A request to cancel a query is a
// greeting that nothing follows.
func relayGreeting(reader *bufio.Reader, client, server net.Conn) error {
	for {
		var head [greetingMin]byte
		if _, err := io.ReadFull(reader, head[:]); err != nil {
			return err
		}
		length, code := binary.BigEndian.Uint32(head[:lengthSize]), binary.BigEndian.Uint32(head[lengthSize:])
		if length < greetingMin || length > maxMessage {
			return errors.New("not a greeting")
		}
		rest := make([]byte, length-greetingMin)
		if _, err := io.ReadFull(reader, rest); err != nil {
			return err
		}
		if code != sslRequest && code != gssRequest {
			_, err := server.Write(append(head[:], rest...))
			return err
		}
		if _, err := client.Write([]byte("N")); err != nil {
			return err
		}
	}
}

// text reads a string that ends with a zero byte, and returns what follows.
func text(payload []byte) (string, []byte) {
	value, rest, _ := bytes.Cut(payload, []byte{0})
	return string(value), rest
}

// changesRows reads a command tag, such as "INSERT 0 1" or "UPDATE 0".
func changesRows(payload []byte) bool {
	tag, _ := text(payload)
	words := strings.Fields(tag)
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "INSERT", "UPDATE", "DELETE", "MERGE", "COPY":
		return words[len(words)-1] != "0"
	default:
		return false
	}
}

// message is a message of the protocol.
func message(kind byte, payload string) []byte {
	size := uint32(lengthSize + len(payload))
	return append(binary.BigEndian.AppendUint32([]byte{kind}, size), payload...)
}

// rollback asks the server to roll back and for an answer, in the way that a pipeline may end with.
func rollback() []byte {
	return slices.Concat(
		message(parseKind, "\x00ROLLBACK\x00\x00\x00"), message(bindKind, "\x00\x00\x00\x00\x00\x00\x00\x00"),
		message(executeKind, "\x00\x00\x00\x00\x00"), message(syncKind, ""),
	)
}

// ends reports whether a server ends the session with the error.
func (e Error) ends() bool { return e.Severity != "ERROR" }

// messages are what a server sends with the error: the session is ready for the next transaction, if it goes on.
func (e Error) messages() []byte {
	fields := "S" + e.Severity + "\x00"
	if !e.Translated {
		fields += "V" + e.Severity + "\x00"
	}
	sent := message(errorKind, fields+"C"+e.Code+"\x00Mplanted by a test\x00\x00")
	if e.ends() {
		return sent
	}
	return append(sent, message(readyKind, "I")...)
}
