package config

import (
	"log/slog"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// mostEngineMemory bounds the default of Settings.EngineMemory. It suffices for the heaviest document of the
	// default size, and is what one organization can make a process use.
	mostEngineMemory = 512 << 20
	// engineMemoryShare is the part of a container's memory that engines get, if that is less. The rest is for
	// documents on their way, for caches, and for what the garbage collector has not yet found.
	engineMemoryShare = 4
	// heapShare is the part of a container's memory that the Go heap may take.
	heapShare = 0.9
)

// defaultEngineMemory is the budget of the engines on this machine or in this container.
func defaultEngineMemory() int64 {
	limit, err := memlimit.FromCgroup()
	if err != nil {
		return mostEngineMemory
	}
	return int64(min(limit/engineMemoryShare, mostEngineMemory))
}

// limitMemory makes the garbage collector keep within the memory of the container, unless GOMEMLIMIT says otherwise or
// there is no limit.
func limitMemory(log *slog.Logger) {
	limit, err := memlimit.Set(memlimit.WithRatio(heapShare), memlimit.WithProvider(memlimit.FromCgroup))
	if err != nil {
		log.Debug("the memory of this process is not limited", "reason", err)
		return
	}
	log.Info("the memory of this process is limited", "bytes", limit)
}
