package tasks

import (
	"errors"

	"github.com/simplevalidations/simplevalidations/core/embedded"
)

// errTaskNotFound is what asynq's scripts reply about a task that is in another state.
var errTaskNotFound = errors.New("NOT FOUND")

// ScriptsInGo are the scripts of asynq that an idle worker polls with and that each task needs. The in-process Redis
// runs them in Go. A release of asynq may change a script, and with it the SHA-1: until it is added here the
// interpreter runs it.
func ScriptsInGo() map[string]embedded.Script {
	return map[string]embedded.Script{
		"98d28b42650870a743450ffda9791e9e19c6991b": {Run: enqueueInGo},
		"a8153319360adc71cdc370107f8ab9786f204765": {Run: dequeueInGo, Waits: true},
		"1241eaa1c73409baaf1fea0c08d203a4911bda15": {Run: doneInGo},
		"522b1a6ae66fe79ea2f24a9af58798ab71879035": {Run: forwardInGo},
	}
}

// enqueueInGo adds a task, and replies 0 if its id is taken.
func enqueueInGo(call embedded.Call, keys, args []string) (any, error) {
	task, pending := keys[0], keys[1]
	message, id, now := args[0], args[1], args[2]
	taken, err := call("EXISTS", task)
	if err != nil || taken == 1 {
		return 0, err
	}
	if _, err := call("HSET", task, "msg", message, "state", "pending", "pending_since", now); err != nil {
		return nil, err
	}
	_, err = call("LPUSH", pending, id)
	return 1, err
}

// dequeueInGo makes the oldest pending task active, under a lease, and replies with its message.
func dequeueInGo(call embedded.Call, keys, args []string) (any, error) {
	pending, paused, active, lease := keys[0], keys[1], keys[2], keys[3]
	leaseEnd, prefix := args[0], args[1]
	if found, err := call("EXISTS", paused); err != nil || found == 1 {
		return nil, err
	}
	id, err := call("RPOPLPUSH", pending, active)
	text, found := id.(string)
	if err != nil || !found {
		return nil, err
	}
	task := prefix + text
	for _, change := range [][]string{
		{"HSET", task, "state", "active"}, {"HDEL", task, "pending_since"}, {"ZADD", lease, leaseEnd, text},
	} {
		if _, err := call(change...); err != nil {
			return nil, err
		}
	}
	return call("HGET", task, "msg")
}

// doneInGo deletes an active task and counts it.
func doneInGo(call embedded.Call, keys, args []string) (any, error) {
	active, lease, task, day, total := keys[0], keys[1], keys[2], keys[3], keys[4]
	id, dayEnd, most := args[0], args[1], args[2]
	for _, removal := range [][]string{{"LREM", active, "0", id}, {"ZREM", lease, id}, {"DEL", task}} {
		removed, err := call(removal...)
		if err != nil {
			return nil, err
		}
		if removed == 0 {
			return nil, errTaskNotFound
		}
	}
	ofDay, err := call("INCR", day)
	if err == nil && ofDay == 1 {
		_, err = call("EXPIREAT", day, dayEnd)
	}
	if err != nil {
		return nil, err
	}
	count := []string{"INCR", total}
	if before, err := call("GET", total); err != nil {
		return nil, err
	} else if before == most {
		count = []string{"SET", total, "1"}
	}
	_, err = call(count...)
	return embedded.Status("OK"), err
}

// forwardInGo replies that no task is due. Those that are due are left to the interpreter.
func forwardInGo(call embedded.Call, keys, args []string) (any, error) {
	delayed, now := keys[0], args[0]
	due, err := call("ZCOUNT", delayed, "-inf", now)
	if err == nil && due != 0 {
		err = embedded.ErrInterpret
	}
	return 0, err
}
