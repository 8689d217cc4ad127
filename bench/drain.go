package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// flood is a thousand mentions at once, and who clicks while they wait for Slack's limits.
type flood struct {
	who    func(mention int) string // the user who mentions the bot
	minute time.Duration            // of Slack's limits
	every  time.Duration            // that four people click; see benchDrain
	slack  func(*slackdev.Config)   // what is special about the workspace; may be nil
}

const drainChannels = 100

// benchDrain measures how long a click waits for its acknowledgement, which follows the commit, while far more is to be
// posted than Slack takes: 1,000 mentions over 100 channels at once, in a workspace that counts calls as Slack does,
// with a minute of ten seconds, and with 10,000 requests that wait already. Twenty people mention the bot, fifty times
// each. It counts the answers of 429 too.
//
// Four click at once, less often than Slack says who somebody is, which is a hundred times in a minute: past that a
// click waits for its turn to ask, whatever we do.
func benchDrain(ctx context.Context, o options) error {
	return drain(ctx, o, flood{
		who:    func(i int) string { return requester(i % 20).Local() },
		minute: 10 * time.Second, every: 500 * time.Millisecond,
	})
}

// benchCrowd is benchDrain with a thousand people, each of whom mentions the bot once, and with a minute that lasts
// one: ten times as many as Slack says who they are in it.
func benchCrowd(ctx context.Context, o options) error {
	who := func(i int) string { return fmt.Sprintf("UCROWD%04d", i) }
	minute := time.Minute / time.Duration(o.scale(1, 6))
	return drain(ctx, o, flood{
		who: who, minute: minute, every: minute / 20,
		slack: func(c *slackdev.Config) {
			for i := range c.Channels {
				c.Channels[i].Members = slices.Clone(c.Channels[i].Members)
			}
			for i := range o.scale(1000, 60) {
				in := &c.Channels[i%drainChannels]
				c.Users, in.Members = append(c.Users, slackdev.User{ID: who(i)}), append(in.Members, who(i))
			}
		},
	})
}

func drain(ctx context.Context, o options, fl flood) error {
	mentions := o.scale(1000, 60)
	model, stopModel, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer stopModel()
	p, err := launchWith(ctx, o, filepath.Join(o.dir, "drain"), launching{
		model: model,
		slack: func(c *slackdev.Config) {
			c.RateLimits, c.RateMinute = true, fl.minute
			if fl.slack != nil {
				fl.slack(c)
			}
		},
		prepare: func(_ *slackdev.Workspace, rig *serviceRig) ([]*approvals.Request, error) {
			return rig.seed(ctx, o.scale(10000, 1000), programRequirement())
		},
	})
	if err != nil {
		return err
	}
	defer p.stop()
	_, err = pool(ctx, mentions, 16, func(ctx context.Context, i int) error {
		_, err := p.slack.Post(ctx, fl.who(i), channelID(i%drainChannels), "<@UBOT> pay acme", "")
		return err
	})
	if err != nil {
		return err
	}
	began := time.Now()
	took, posted, err := p.clickWhileItDrains(ctx, mentions, fl.every)
	if err != nil {
		return err
	}
	slices.Sort(took)
	fmt.Printf("%d mentions at once over %d channels: all %d cards posted after %.0f s; %d of them clicked meanwhile\n",
		mentions, drainChannels, posted, time.Since(began).Seconds(), len(took))
	fmt.Printf("click to acknowledgement: p50 %.1f ms, p99 %.1f ms, worst %.1f ms\n",
		ms(quantile(took, 0.5)), ms(quantile(took, 0.99)), ms(took[len(took)-1]))
	fmt.Println("answers of 429:", cmp.Or(p.refusals(), "none"))
	return nil
}

// clickWhileItDrains clicks on cards, four at once, each once, until as many are posted.
func (p *process) clickWhileItDrains(
	ctx context.Context, want int, every time.Duration,
) (took []time.Duration, posted int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	clicked := map[string]bool{}
	next := time.NewTicker(every)
	defer next.Stop()
	for posted < want {
		var cards []slackdev.Message
		posted = 0
		for i := range drainChannels {
			for _, m := range p.slack.Messages(channelID(i)) {
				if m.Metadata == nil || m.Metadata.EventType != "countersign_approval" {
					continue
				}
				if posted++; !clicked[m.TS] && len(cards) < 4 {
					clicked[m.TS] = true
					cards = append(cards, m)
				}
			}
		}
		var clicking sync.WaitGroup
		var mu sync.Mutex
		for _, m := range cards {
			clicking.Go(func() {
				at := time.Now()
				failure := p.slack.Click(ctx, slackdev.Click{
					User: benchApprover.Local(), Channel: m.Channel, TS: m.TS, ActionID: "approve",
				})
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(at))
				if err == nil {
					err = failure
				}
			})
		}
		clicking.Wait()
		if err != nil {
			return nil, 0, fmt.Errorf("click: %w", err)
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("%d of %d cards are posted: %w", posted, want, context.Cause(ctx))
		}
	}
	return took, posted, nil
}

// refusals counts the answers of 429 by method.
func (p *process) refusals() string {
	count := map[string]int{}
	for _, c := range p.slack.Calls() {
		if c.Status == 429 {
			count[c.Method]++
		}
	}
	var all []string
	for method, n := range count {
		all = append(all, fmt.Sprintf("%s %d", method, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
