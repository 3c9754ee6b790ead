package main

import (
	"context"
	"fmt"
)

// overQuotaEvery makes a tenth of the organizations those that are over their quota.
const overQuotaEvery = 10

// measureQuota compares the starts of the other organizations before and while a tenth is over its quota.
func (c *course) measureQuota(ctx context.Context) ([]goal, error) {
	const clients = 32
	kept := goal{
		what:  "fresh starts, 32 clients, of the others while 10 % of the organizations are over their quota",
		bound: atLeast(0.9, unitShare),
	}
	for round := range c.options.scale.rounds {
		var free, beside sample
		measure := map[work]*sample{workOthers: &free, workBeside: &beside}
		order := []work{workOthers, workBeside}
		if round%2 == 1 {
			order[0], order[1] = order[1], order[0]
		}
		for _, what := range order {
			if err := c.setQuota(ctx, what == workBeside); err != nil {
				return nil, err
			}
			got, err := c.sample(ctx, c.service(), what, clients)
			if err != nil {
				return nil, err
			}
			*measure[what] = got
		}
		kept.values = append(kept.values, beside.perSecond()/free.perSecond())
		kept.note = fmt.Sprintf("%s a second, %s before", thousands(beside.perSecond()), thousands(free.perSecond()))
	}
	return []goal{kept}, nil
}

func (c *course) setQuota(ctx context.Context, spent bool) error {
	_, err := c.world.db.Exec(ctx, `
		UPDATE usage_counters SET quota = CASE WHEN $1 AND right(org_id::text, 12)::integer % $2 = 0 THEN used END`,
		spent, overQuotaEvery)
	if err != nil {
		return fmt.Errorf("set quotas: %w", err)
	}
	return nil
}
