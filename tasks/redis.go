package tasks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrEvicts says that Redis is set up to throw keys away when its memory is full, and so would lose queued work
// silently instead of refusing more.
var ErrEvicts = errors.New("the Redis setting maxmemory-policy must be noeviction")

const (
	redisDialTimeout = 2 * time.Second
	redisTimeout     = 2 * time.Second
	// redisRetries is low, because everything that talks to Redis has its own way of trying again.
	redisRetries = 1
	// clusterReload is how old a client's view of a cluster gets. A master that does not answer any more is in it until
	// then, because its silence alone does not make the client look for another.
	clusterReload = 2 * time.Second

	// idlePoll is the pause of a worker that has found the queue empty. The enqueuer fills it just in time, so workers
	// find it empty often: with 100 ms one worker process executed 710 runs a second, with 10 ms 1,459.
	idlePoll = 10 * time.Millisecond
	// waitingPoll is short, as the in-process Redis answers an idle worker only when there is something to do.
	waitingPoll = 2 * time.Millisecond
)

// Redis says how to reach a Redis. It is asynq's RedisConnOpt.
type Redis struct {
	connect func() redis.UniversalClient
	// idlePoll is the pause of an idle worker before it looks for tasks again.
	idlePoll time.Duration
}

// InProcess returns the Redis inside this process that dial connects to. It runs ScriptsInGo.
func InProcess(dial func(ctx context.Context, network, address string) (net.Conn, error)) Redis {
	opt := &redis.Options{Dialer: dial}
	setDefaults(&opt.DialTimeout, &opt.ReadTimeout, &opt.MaxRetries)
	opt.ContextTimeoutEnabled = true
	return Redis{connect: func() redis.UniversalClient { return redis.NewClient(opt) }, idlePoll: waitingPoll}
}

// ParseRedisURL reads the address of one Redis, of a Redis behind sentinels, or of a cluster:
//
//	redis://user:password@host:6379/0                          (rediss:// with TLS)
//	unix:///path/to/redis.sock?db=0
//	redis-sentinel://host:26379/0?master_name=m&addr=host2:26379   (rediss-sentinel:// with TLS)
//	redis-cluster://host:6379?addr=host2:6379                  (rediss-cluster:// with TLS)
//
// The client's settings may be added as parameters, as in read_timeout=1s. Errors never show the password.
func ParseRedisURL(raw string) (Redis, error) {
	var opt Redis
	var err error
	switch scheme, _, _ := strings.Cut(raw, "://"); scheme {
	case "redis", "rediss", "unix":
		opt, err = parseSingle(raw)
	case "redis-sentinel", "rediss-sentinel":
		opt, err = parseSentinel(strings.Replace(raw, "-sentinel", "", 1))
	case "redis-cluster", "rediss-cluster":
		opt, err = parseCluster(strings.Replace(raw, "-cluster", "", 1))
	default:
		err = errors.New("it must begin with redis://, rediss://, unix://, redis-sentinel:// or redis-cluster://")
	}
	// The text of a url.Error holds the whole address, password and all.
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	if err != nil {
		return Redis{}, fmt.Errorf("read the Redis URL: %w", err)
	}
	return opt, nil
}

// MakeRedisClient opens a pool of its own with every call, which the caller closes. The client is always a
// redis.UniversalClient.
func (r Redis) MakeRedisClient() any {
	return r.connect()
}

// Client opens a pool of its own, which the caller closes.
func (r Redis) Client() redis.UniversalClient { //nolint:ireturn // one server, sentinels and a cluster differ in type
	return r.connect()
}

func parseSingle(raw string) (Redis, error) {
	opt, err := redis.ParseURL(raw)
	if err != nil {
		return Redis{}, err
	}
	setDefaults(&opt.DialTimeout, &opt.ReadTimeout, &opt.MaxRetries)
	opt.ContextTimeoutEnabled = true
	return Redis{connect: func() redis.UniversalClient { return redis.NewClient(opt) }, idlePoll: idlePoll}, nil
}

func parseSentinel(raw string) (Redis, error) {
	opt, err := redis.ParseFailoverURL(raw)
	if err != nil {
		return Redis{}, err
	}
	if opt.MasterName == "" {
		return Redis{}, errors.New("sentinels need the parameter master_name")
	}
	setDefaults(&opt.DialTimeout, &opt.ReadTimeout, &opt.MaxRetries)
	opt.ContextTimeoutEnabled = true
	return Redis{
		connect: func() redis.UniversalClient { return redis.NewFailoverClient(opt) }, idlePoll: idlePoll,
	}, nil
}

func parseCluster(raw string) (Redis, error) {
	opt, err := redis.ParseClusterURL(raw)
	if err != nil {
		return Redis{}, err
	}
	setDefaults(&opt.DialTimeout, &opt.ReadTimeout, &opt.MaxRetries)
	opt.ContextTimeoutEnabled = true
	opt.ClusterStateReloadInterval = clusterReload
	return Redis{
		connect: func() redis.UniversalClient { return redis.NewClusterClient(opt) }, idlePoll: idlePoll,
	}, nil
}

// setDefaults fills in what the address does not say.
func setDefaults(dial, read *time.Duration, retries *int) {
	if *dial == 0 {
		*dial = redisDialTimeout
	}
	if *read == 0 {
		*read = redisTimeout
	}
	if *retries == 0 {
		*retries = redisRetries
	}
}

// CheckWritable returns why Redis takes no messages: it is away, full or a replica, or refuses what it cannot save. It
// writes a key that expires, to where the queue is: into the same slot of a cluster.
func CheckWritable(ctx context.Context, client redis.UniversalClient) error {
	err := client.Set(ctx, "simplevalidations:{"+QueueJobs+"}:probe", "", time.Second).Err()
	if err != nil {
		return fmt.Errorf("write to Redis: %w", err)
	}
	return nil
}

// CheckEviction returns ErrEvicts when Redis would throw queued work away. Where the setting cannot be asked for, as
// with the in-process Redis and with hosted ones, it says so in the log and returns nil.
func CheckEviction(ctx context.Context, client redis.UniversalClient, log *slog.Logger) error {
	policy, err := evictionPolicy(ctx, client)
	if replied, ok := errors.AsType[redis.Error](err); ok {
		log.WarnContext(ctx, "cannot tell whether Redis evicts keys", "reply", replied.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if state := (RedisState{Policy: policy}); state.Evicts() {
		return fmt.Errorf("%w: it is %s", ErrEvicts, policy)
	}
	return nil
}

// evictionPolicy returns "" where Redis does not know the setting.
func evictionPolicy(ctx context.Context, client redis.UniversalClient) (string, error) {
	settings, err := client.ConfigGet(ctx, "maxmemory-policy").Result()
	if err != nil {
		return "", fmt.Errorf("ask Redis for its settings: %w", err)
	}
	return settings["maxmemory-policy"], nil
}

// RedisState is how a Redis is configured, and whether it can save.
type RedisState struct {
	// Policy is maxmemory-policy; "" if Redis does not report it.
	Policy string
	// CannotSave says that it could not write its data to its disk, after which it may refuse to take any.
	CannotSave bool
}

// Evicts reports whether queued work may be thrown away.
func (s RedisState) Evicts() bool { return s.Policy != "" && s.Policy != "noeviction" }

// ReadRedisState reads the state of a Redis. Hosted ones may not report all of it; the rest is zero.
func ReadRedisState(ctx context.Context, client redis.UniversalClient) (RedisState, error) {
	policy, err := evictionPolicy(ctx, client)
	if _, replied := errors.AsType[redis.Error](err); err != nil && !replied {
		return RedisState{}, err
	}
	saving, err := client.Info(ctx, "persistence").Result()
	if _, replied := errors.AsType[redis.Error](err); err != nil && !replied {
		return RedisState{}, fmt.Errorf("ask Redis for its state: %w", err)
	}
	failed := strings.Contains(saving, "rdb_last_bgsave_status:err") ||
		strings.Contains(saving, "aof_last_write_status:err")
	return RedisState{Policy: policy, CannotSave: failed}, nil
}
