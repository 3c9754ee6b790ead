package embedded

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// longestWait is how long a script may wait. Clients give up on an answer after two seconds.
const longestWait = time.Second

// ErrInterpret leaves a call of a script to the interpreter. Nothing may have been written before.
var ErrInterpret = errors.New("the script is left to the interpreter")

// Script does in Go what a Lua script does. Interpreting takes a hundred times as long, as each call begins with a new
// interpreter.
type Script struct {
	// Run returns the reply: nil, an int, a string or a Status. Like Lua it runs while no other command does. An error
	// is the reply, except for ErrInterpret.
	Run func(call Call, keys, args []string) (any, error)
	// Waits holds a nil reply back until a script pushes to a list, at most for a second, and then runs the script
	// again. A client that polls gets what it waits for at once, and polls less. A client may poll several lists in
	// turn, so no call waits unless the last one for each first key was answered with nil since the last push.
	Waits bool
}

// Status is a reply such as OK.
type Status string

// Call runs a command and returns its reply, such as nil, an int, a string or a Status.
type Call func(args ...string) (any, error)

// native runs scripts on a server.
type native struct {
	redis   *miniredis.Miniredis
	server  *server.Server
	scripts map[string]Script
	// running ends when scripts may no longer wait.
	running context.Context //nolint:containedctx // it is the lifetime of the server, not of a call
	stop    context.CancelFunc

	mu sync.Mutex
	// pushed is closed at the next push, and pushes counts those before.
	pushed chan struct{}
	pushes int
	// empty has the count of pushes at which the script found nothing, by its first key.
	empty map[string]int

	// peer runs the commands of scripts. It and output are used under the lock of the server.
	peer   *server.Peer
	writer *bufio.Writer
	output bytes.Buffer
	reader *bufio.Reader
}

func newNative(ctx context.Context, redis *miniredis.Miniredis, scripts map[string]Script) (*native, error) {
	n := &native{
		redis: redis, server: redis.Server(), scripts: scripts,
		pushed: make(chan struct{}), empty: make(map[string]int),
	}
	n.writer, n.reader = bufio.NewWriter(&n.output), bufio.NewReader(&n.output)
	n.peer = server.NewPeer(n.writer)
	if err := n.enter(); err != nil {
		return nil, err
	}
	n.running, n.stop = context.WithCancel(ctx)
	n.server.SetPreHook(n.hook)
	return n, nil
}

// enter makes the commands of the peer those of a script: the server does not lock itself for them. A script of one
// command gets that state from the server.
func (n *native) enter() error {
	const command = "SIMPLEVALIDATIONS.ENTER"
	err := n.server.Register(command, func(c *server.Peer, _ string, _ []string) {
		n.peer.Ctx = c.Ctx
		c.WriteOK()
	})
	if err != nil {
		return fmt.Errorf("register a command: %w", err)
	}
	n.server.Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)),
		[]string{"EVAL", "return redis.call('" + command + "')", "0"})
	if n.peer.Ctx == nil {
		return errors.New("the server runs no scripts")
	}
	return nil
}

// hook runs before each command, those of scripts included, and reports whether it has answered the command.
func (n *native) hook(c *server.Peer, command string, args ...string) bool {
	switch command {
	case "LPUSH", "RPUSH":
		// The script that pushes is alone until its end, so what it wakes sees all of its work.
		n.wake()
	case "EVALSHA":
		return n.evaluate(c, args)
	}
	return false
}

func (n *native) evaluate(c *server.Peer, args []string) bool {
	const sha, count, first = 0, 1, 2
	if len(args) < first {
		return false
	}
	script, known := n.scripts[args[sha]]
	keys, err := strconv.Atoi(args[count])
	if !known || err != nil || keys < 0 || keys > len(args)-first {
		return false
	}
	run := func() (any, error) { return n.run(script, args[first:first+keys], args[first+keys:]) }
	var reply any
	if script.Waits && keys > 0 {
		reply, err = n.waitFor(args[first], run)
	} else {
		reply, err = run()
	}
	if errors.Is(err, ErrInterpret) {
		return false
	}
	answer(c, reply, err)
	return true
}

func (n *native) run(script Script, keys, args []string) (any, error) {
	n.redis.Lock()
	defer n.redis.Unlock()
	return script.Run(n.call, keys, args)
}

func (n *native) call(args ...string) (any, error) {
	n.output.Reset()
	n.reader.Reset(&n.output)
	n.server.Dispatch(n.peer, args)
	n.peer.Flush()
	reply, err := server.ParseReply(n.reader)
	if status, ok := reply.(server.Simple); ok {
		reply = Status(status)
	}
	return reply, err
}

// waitFor runs a script that may wait.
func (n *native) waitFor(key string, run func() (any, error)) (any, error) {
	n.mu.Lock()
	pushed, pushes := n.pushed, n.pushes
	n.mu.Unlock()
	reply, err := run()
	if !n.allEmpty(key, pushes, reply == nil) || err != nil {
		return reply, err
	}
	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	select {
	case <-pushed:
		return run()
	case <-timer.C:
	case <-n.running.Done():
	}
	return reply, err
}

// allEmpty notes whether the script found nothing, and reports whether that is so for all first keys.
func (n *native) allEmpty(key string, pushes int, empty bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	const notEmpty = -1
	n.empty[key] = notEmpty
	if empty {
		n.empty[key] = pushes
	}
	for _, at := range n.empty {
		if at != n.pushes {
			return false
		}
	}
	return true
}

func (n *native) wake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.pushed)
	n.pushed = make(chan struct{})
	n.pushes++
}

func answer(c *server.Peer, reply any, err error) {
	if err != nil {
		c.WriteError(err.Error())
		return
	}
	switch reply := reply.(type) {
	case nil:
		c.WriteNull()
	case int:
		c.WriteInt(reply)
	case string:
		c.WriteBulk(reply)
	case Status:
		c.WriteInline(string(reply))
	default:
		c.WriteError(fmt.Sprintf("ERR a script replied with a %T", reply))
	}
}
