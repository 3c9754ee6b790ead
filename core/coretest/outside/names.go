package outside

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// Names is a name server that tests decide the answers of. A name that it was not told of does not exist. Its zero
// value knows none.
type Names struct {
	mu      sync.Mutex // guards all below
	answers map[string][][]string
	asked   map[string]int
}

// Answer says what a name stands for: one list of addresses for each time that it is asked, and then the last one.
func (n *Names) Answer(name string, answers ...[]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.answers == nil {
		n.answers, n.asked = make(map[string][][]string), make(map[string]int)
	}
	n.answers[name] = answers
}

// Resolver returns a resolver that asks the name server.
func (n *Names) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asks, answers := net.Pipe()
		go n.serve(answers)
		return asks, nil
	}}
}

// serve answers questions as DNS has them over TCP, each behind its length.
func (n *Names) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		reply := n.reply(question)
		reply = append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

// reply answers a question with those of the addresses that are of the kind that was asked for.
func (n *Names) reply(question []byte) []byte {
	const header, typeA, typeAAAA, classIN, noSuchName = 12, 1, 28, 1, 3
	end := header
	var labels []string
	for question[end] != 0 {
		next := end + 1 + int(question[end])
		labels = append(labels, string(question[end+1:next]))
		end = next
	}
	asked := binary.BigEndian.Uint16(question[end+1:])
	addresses, known := n.next(strings.Join(labels, "."), asked == typeA)
	answer := append([]byte{}, question[:end+5]...)
	copy(answer[2:], []byte{0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	if !known {
		answer[3] = noSuchName
	}
	for _, text := range addresses {
		ip := netip.MustParseAddr(text)
		if ip.Is4() != (asked == typeA) || asked != typeA && asked != typeAAAA {
			continue
		}
		answer[7]++
		answer = append(answer, 0xc0, header, 0, byte(asked), 0, classIN, 0, 0, 0, 0, 0, byte(len(ip.AsSlice())))
		answer = append(answer, ip.AsSlice()...)
	}
	return answer
}

// next is what a name stands for now. It is asked for both kinds of addresses each time, in any order.
func (n *Names) next(name string, four bool) ([]string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answers, known := n.answers[name]
	if !known {
		return nil, false
	}
	counted := name
	if four {
		counted += "/4"
	}
	times := n.asked[counted]
	n.asked[counted]++
	return answers[min(times, len(answers)-1)], true
}
