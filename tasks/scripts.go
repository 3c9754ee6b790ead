package tasks

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/core/coalesce"
)

// scriptsClient sends scripts that are called concurrently, as when many tasks are queued, in one pipeline, because the
// round trips take most of the time. All other commands are those of the embedded client.
type scriptsClient struct {
	redis.UniversalClient

	calls *coalesce.Batcher[scriptCall, *redis.Cmd]
}

type scriptCall struct {
	sha  string
	keys []string
	args []any
}

func newScriptsClient(client redis.UniversalClient) scriptsClient {
	limits := coalesce.Limits{
		Batches: 1, Members: deliverers, Weight: deliverers, Waiting: deliverers, WaitingWeight: deliverers,
	}
	return scriptsClient{UniversalClient: client, calls: coalesce.New(
		limits, func(scriptCall) int { return 1 },
		func(ctx context.Context, calls []scriptCall) []*redis.Cmd {
			answers := make([]*redis.Cmd, len(calls))
			// Each command keeps its own error.
			_, _ = client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for i, call := range calls {
					answers[i] = pipe.EvalSha(ctx, call.sha, call.keys, call.args...)
				}
				return nil
			})
			return answers
		},
	)}
}

// EvalSha runs a script that Redis knows.
func (c scriptsClient) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	answer, err := c.calls.Do(ctx, scriptCall{sha: sha, keys: keys, args: args})
	if err != nil {
		answer = redis.NewCmd(ctx)
		answer.SetErr(err)
	}
	return answer
}
