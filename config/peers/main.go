// Command peers serves orders behind an idempotency library that somebody else has written, so that idemcheck can be
// tried on it. It is a module of its own, so that none of the libraries is a dependency of the service.
//
//	peers NAME PORT FOLDER
package main

import (
	"errors"
	"fmt"
	"os"
)

// A serve blocks while a library's server runs on the address. What the library stores in files goes to the folder.
type serve func(address, folder string, orders *orders) error

var peers = map[string]serve{
	"dbos":     serveDBOS,
	"fiber-v2": serveFiber2,
	"fiber-v3": serveFiber3,
	"nats":     serveNATS,
	"restate":  serveRestate,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 || peers[arguments[0]] == nil {
		return errors.New("the arguments are the name of a peer, a port and a folder")
	}
	name, address, folder := arguments[0], "127.0.0.1:"+arguments[1], arguments[2]
	orders, err := openOrders(folder)
	if err != nil {
		return err
	}
	return peers[name](address, folder, orders)
}
