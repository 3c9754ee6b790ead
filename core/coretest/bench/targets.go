package main

import (
	"fmt"
	"time"
)

// The lanes. Those of the contests that have two sides of one service are named by what differs.
const (
	laneEmbedded = "serve, embedded Redis"
	laneRedis    = "serve, redis-server"
	laneSplit    = "web and worker"
	laneStarts   = "starts alone"
	lanePgbench  = "pgbench"
	laneBare     = "bare handler"
	laneRiver    = "River"
	laneYoung    = "young database"
	laneSettled  = "settled database"
	laneIdle     = "idle"
	laneBacklog  = "beside a backlog of 10,000 runs"
	laneSpent    = "a tenth over their quota"
	laneWithin   = "all within their quota"
	laneWorker   = "one worker process"
	laneAlone    = "alone"
	laneBusy     = "beside a busy organization"
)

// targets are what the service is held to.
func targets() []target {
	p50, p99 := percentile(50), percentile(99)
	list := []target{
		{
			text: "latency of a lone start, p50 to pgbench's", of: p50, bound: 1.6, most: true,
			value: key{workMany, 1, laneStarts}, to: key{workMany, 1, lanePgbench},
		},
		{
			text: "lone start beside a backlog of 10,000 runs, p50 to idle", of: p50, bound: 2, most: true,
			value: key{workMany, 1, laneBacklog}, to: key{workMany, 1, laneIdle},
		},
		{
			text: "lone start beside a backlog of 10,000 runs, p99 to idle", of: p99, bound: 4, most: true,
			value: key{workMany, 1, laneBacklog}, to: key{workMany, 1, laneIdle},
		},
		{
			text: "start to verdict with Prefer: wait, p50 to that of a plain start, 1 client", of: p50, bound: 2,
			most: true, value: key{workWait, 1, laneEmbedded}, to: key{workMany, 1, laneEmbedded},
		},
		{
			text: "fresh starts, 32 clients, of the others while 10 % of the organizations are over their quota",
			of:   rate, bound: 0.9, value: key{workOthers, 32, laneSpent}, to: key{workOthers, 32, laneWithin},
		},
		{
			text: "runs from pending to executed, one worker process", of: rate, bound: 1000,
			value: key{workMany, 8, laneWorker},
		},
		{
			text: "verdict of a lone client beside a busy organization with 31 clients, p50 to alone",
			of:   p50, bound: 6,
			most: true, value: key{workQuiet, 32, laneBusy}, to: key{workVerdicts, 1, laneAlone},
		},
	}
	for _, name := range []string{laneEmbedded, laneRedis} {
		for _, clients := range []int{32, 64} {
			list = append(list, ratio(0.7, key{workVerdicts, clients, name}, laneStarts))
		}
		list = append(list, target{
			text:  fmt.Sprintf("CPU of a verdict, 32 clients, %s, to that of a start alone", name),
			bound: 1.6, most: true,
			of:    cost(func(c cpuTimes) time.Duration { return c.service + c.postgres }),
			value: key{workVerdicts, 32, name}, to: key{workVerdicts, 32, laneStarts},
		})
	}
	list = append(list, ratio(1.5, key{workVerdicts, 32, laneEmbedded}, lanePgbench),
		ratio(3, key{workHotVerdicts, 32, laneEmbedded}, lanePgbench),
		ratio(1.5, key{workVerdicts, 32, laneEmbedded}, laneRiver),
		ratio(0.9, key{workMany, 32, laneYoung}, laneSettled),
		ratio(0.9, key{workVerdicts, 32, laneYoung}, laneSettled),
		ratio(0.6, key{workReplay, 32, laneStarts}, laneBare),
		ratio(0.28, key{workReplay, 32, laneStarts}, lanePgbench))
	for _, wanted := range []struct {
		what    work
		clients int
		least   float64
	}{
		{workMany, 8, 0.7},
		{workMany, 32, 1.5},
		{workMany, 64, 2.2},
		{workMany, 0, 1.3},
		{workHot, 8, 1.1},
		{workHot, 32, 3},
		{workHot, 64, 5},
		{workHot, 0, 2},
	} {
		list = append(list, ratio(wanted.least, key{wanted.what, wanted.clients, laneStarts}, lanePgbench))
	}
	for _, what := range []work{workMany, workHot} {
		list = append(list, target{
			text: fmt.Sprintf("%s, 64 clients, p99 to pgbench's", what), of: p99, bound: 0.2, most: true,
			value: key{what, 64, laneStarts}, to: key{what, 64, lanePgbench},
		})
	}
	return list
}

// ratio is that of the rates of two lanes under the same load, by the number of clients that is best for each where
// none is given.
func ratio(least float64, value key, to string) target {
	clients := fmt.Sprintf("%d clients", value.clients)
	if value.clients == 0 {
		clients = "best number of clients"
	}
	return target{
		text: fmt.Sprintf("%s, %s, %s, to %s", value.what, clients, value.lane, to), of: rate, bound: least,
		value: value, to: key{value.what, value.clients, to},
	}
}
