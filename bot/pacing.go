package bot

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// pacing learns how often Slack takes a method. Slack counts the calls of a method in the whole workspace; posts it
// counts in their channel too: https://docs.slack.dev/apis/web-api/rate-limits. Nothing is slowed down until Slack says
// 429; then what wants to call gets turns, at the distance that the calls before the 429 speak of, and the distance
// shrinks little by little for as long as no other 429 comes.
type pacing struct {
	mu    sync.Mutex
	lanes map[string]*lane // by method, and by method and channel

	inChannels distance // of posts within a channel: what one channel teaches holds for every other
}

const (
	mostInFlight   = 8 // calls of a method at once, which is about how many 429s the first one brings with it
	mostLanes      = 1000
	mostDistance   = 30 * time.Second
	firstDistance  = time.Second
	inOneChannel   = time.Second // "generally 1 message per second per channel"
	leastDistance  = 20 * time.Millisecond
	measuredFor    = 10 * time.Minute // the distance does not shrink to less than was measured, or is documented
	easeEvery      = 30 * time.Second // the distance shrinks by a tenth
	countedFor     = time.Minute      // what Slack's limits speak of
	promisedFor    = 2 * time.Minute  // after which a turn that nobody took is given up
	crowdedChannel = 2                // so many other posts within crowdedFor make a channel the reason for a 429
	crowdedFor     = 5 * time.Second
	lookAgain      = time.Minute // what stands in a long line sees whether that has become shorter
	enough         = 5           // calls that say how far apart they may be; of fewer it is the pause that is measured
)

// distance is how far apart calls are to be; zero while nothing is slowed down.
type distance struct {
	gap     time.Duration
	said    time.Duration // what Slack's documentation says, where it does
	least   time.Duration // what was known at the last 429
	since   time.Time     // when it changed
	limited time.Time     // when a 429 last taught something
}

// ease shrinks the distance when it has held for a while.
func (d *distance) ease(now time.Time) {
	if d.gap == 0 || now.Sub(d.since) < easeEvery {
		return
	}
	least := d.least
	if now.Sub(d.limited) >= measuredFor {
		least = 0
	}
	d.gap, d.since = max(d.gap*9/10, least), now
	if d.gap < leastDistance {
		d.gap = 0
	}
}

// widen sets the distance after a 429 that says no more than that it is too small, to known or half as much again.
func (d *distance) widen(now time.Time, known time.Duration) {
	d.set(now, max(known, d.gap*3/2), d.said)
}

// widenTo sets the distance after a 429 to what was measured and a little more, which is room for roundings and for
// what several processes take from each other.
func (d *distance) widenTo(now time.Time, measured time.Duration) {
	d.set(now, max(measured*115/100, d.gap*11/10), measured*105/100)
}

func (d *distance) set(now time.Time, gap, least time.Duration) {
	d.gap, d.least = min(max(gap, leastDistance), mostDistance), min(least, mostDistance)
	d.since, d.limited = now, now
}

// lane is what is known about one limit.
type lane struct {
	distance *distance
	until    time.Time            // nothing is called before
	next     time.Time            // the first turn that is nobody's
	turns    map[string]time.Time // promised, by what waits for them
	flying   int                  // calls under way

	// behind is when what stands in line behind all turns is to call: one after the other, at the distance. Each of a
	// thousand marks of how a run stands would otherwise try again as soon as one of them can be set.
	behind     map[string]time.Time
	lastBehind time.Time
	recent     []time.Time // when the calls of the last minute began that went well
	inFlight   chan struct{}
}

func newPacing() *pacing {
	return &pacing{lanes: map[string]*lane{}, inChannels: distance{said: inOneChannel}}
}

// paced is something that wants to call a method.
type paced struct {
	method   string
	channel  string // or who is written to
	what     string // the same at each try
	cosmetic bool   // waits until nobody else has a turn
	apart    bool   // and nothing waits behind it, so that it may stand in a long line; see lane.behind
}

// enter takes one of the places for calls of the method that are under way, and returns how to leave it.
func (p *pacing) enter(method string) (leave func()) {
	p.mu.Lock()
	places := p.lane(method, new(distance)).inFlight
	p.mu.Unlock()
	places <- struct{}{}
	return func() { <-places }
}

// wait returns how long the call has to wait; zero takes the turn. Something that waits is promised a turn, which it
// finds when it comes back after that time.
func (p *pacing) wait(c paced) (longest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, lanes := time.Now(), p.of(c)
	for _, l := range lanes {
		longest = max(longest, l.left(c, now))
	}
	if longest > 0 {
		return longest
	}
	for _, l := range lanes {
		l.take(c, now)
	}
	return 0
}

// forgo gives back the turn that the call was promised, as nobody comes for it: the last one is anybody's again.
func (p *pacing) forgo(c paced) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.of(c) {
		l.leaveLine(c)
		turn, last := l.turns[c.what]
		delete(l.turns, c.what)
		for _, other := range l.turns {
			last = last && other.Before(turn)
		}
		if last && !turn.Add(l.distance.gap).Before(l.next) {
			l.next = turn
		}
	}
}

// dropped reports that a call which had its turn has ended otherwise than by a success or a 429.
func (p *pacing) dropped(c paced) {
	p.mu.Lock()
	defer p.mu.Unlock()
	landed(p.of(c))
}

func landed(lanes []*lane) {
	for _, l := range lanes {
		l.flying--
	}
}

// done reports how a call went that began then: after is what Slack asked to wait, zero for a success.
func (p *pacing) done(c paced, began time.Time, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, lanes := time.Now(), p.of(c)
	landed(lanes)
	if after <= 0 {
		for _, l := range lanes {
			l.worked(began, now)
		}
		return
	}
	if len(lanes) > 1 && p.ofChannel(lanes[1], lanes[0], began, now) {
		lanes[1].refused(began, now, after)
		p.spread(now)
		return
	}
	lanes[0].refused(began, now, after)
}

// ofChannel reports whether a post that began then was too much for its channel rather than for the workspace: much was
// posted there, and either closer together than is documented, or hardly anything elsewhere.
func (p *pacing) ofChannel(channel, workspace *lane, began, now time.Time) bool {
	n := channel.lately(now)
	kept := p.inChannels.knownBefore(began) && p.inChannels.gap >= p.inChannels.said
	return n >= crowdedChannel && (!kept || 2*n > workspace.lately(now))
}

// spread has what was posted in every channel before the distance was known count as if it had been kept, so that not
// each of them meets a 429 of its own.
func (p *pacing) spread(now time.Time) {
	for _, l := range p.lanes {
		if l.distance == &p.inChannels {
			l.next = latest(l.next, l.spread(now))
		}
	}
}

// spread is when the next call is due if those of the last crowdedFor had kept the distance; one later, as Slack counts
// when they arrive.
func (l *lane) spread(now time.Time) time.Time {
	var next time.Time
	for _, at := range l.recent {
		if now.Sub(at) < crowdedFor {
			next = latest(next, at).Add(l.distance.gap)
		}
	}
	for range l.flying {
		next = latest(next, now).Add(l.distance.gap)
	}
	if next.After(now) {
		next = next.Add(l.distance.gap)
	}
	return next
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// knownBefore reports whether a 429 had taught the distance when a call began.
func (d *distance) knownBefore(began time.Time) bool {
	return !d.limited.IsZero() && began.After(d.limited)
}

// of returns the lanes that the call is in, that of the workspace first.
func (p *pacing) of(c paced) []*lane {
	all := []*lane{p.lane(c.method, new(distance))}
	if c.method == methodPost {
		all = append(all, p.lane(c.method+" "+c.channel, &p.inChannels))
	}
	return all
}

func (p *pacing) lane(key string, d *distance) *lane {
	if l, ok := p.lanes[key]; ok {
		return l
	}
	if len(p.lanes) >= mostLanes {
		p.forget()
	}
	l := &lane{distance: d, turns: map[string]time.Time{}, behind: map[string]time.Time{},
		inFlight: make(chan struct{}, mostInFlight)}
	p.lanes[key] = l
	return l
}

// forget drops the lanes that nothing is known about any more.
func (p *pacing) forget() {
	now := time.Now()
	for key, l := range p.lanes {
		l.age(now)
		idle := len(l.recent) == 0 && len(l.turns) == 0 && len(l.behind) == 0 && l.flying == 0 && len(l.inFlight) == 0
		if idle && now.After(l.until) &&
			(l.distance == &p.inChannels || l.distance.gap == 0) {
			delete(p.lanes, key)
		}
	}
}

// left is how long the call has to wait in this lane. It is promised a turn.
func (l *lane) left(c paced, now time.Time) time.Duration {
	if turn, ok := l.turns[c.what]; ok {
		return turn.Sub(now)
	}
	turn := l.next
	if l.until.After(turn) {
		turn = l.until
	}
	if !turn.After(now) {
		return 0
	}
	switch {
	case c.apart:
		return l.inLine(c, turn, now)
	case c.cosmetic:
		return turn.Sub(now) + l.distance.gap
	}
	l.turns[c.what], l.next = turn, turn.Add(l.distance.gap)
	return turn.Sub(now)
}

// inLine is how long the call has to wait, if nobody has a turn by then. turn is when the next is to be had. Who comes
// too late for the time it had is next; who comes before it keeps its place. Some in the line may never come.
func (l *lane) inLine(c paced, turn, now time.Time) time.Duration {
	at, had := l.behind[c.what]
	switch {
	case had && at.After(now):
	case had:
		at = turn
	default:
		at = latest(l.lastBehind, turn).Add(l.distance.gap)
		l.lastBehind = at
	}
	l.behind[c.what] = at
	return min(at.Sub(now), lookAgain)
}

// leaveLine takes a call out of the line.
func (l *lane) leaveLine(c paced) {
	if delete(l.behind, c.what); len(l.behind) == 0 {
		l.lastBehind = time.Time{}
	}
}

func (l *lane) take(c paced, now time.Time) {
	l.flying++
	l.leaveLine(c)
	if _, promised := l.turns[c.what]; promised {
		delete(l.turns, c.what)
		return
	}
	if l.distance.gap > 0 {
		l.next = now.Add(l.distance.gap)
	}
}

func (l *lane) worked(began, now time.Time) {
	l.age(now)
	l.recent = append(l.recent, began)
	l.distance.ease(now)
}

// age forgets what is too old to matter.
func (l *lane) age(now time.Time) {
	for len(l.recent) > 0 && now.Sub(l.recent[0]) > countedFor {
		l.recent = l.recent[1:]
	}
	for _, waits := range []map[string]time.Time{l.turns, l.behind} {
		for what, turn := range waits {
			if now.Sub(turn) > promisedFor {
				delete(waits, what)
			}
		}
	}
}

// lately is how many calls there were just now. What is under way counts: Slack sends a call away sooner than it takes
// one.
func (l *lane) lately(now time.Time) int {
	n := l.flying
	for _, at := range l.recent {
		if now.Sub(at) < crowdedFor {
			n++
		}
	}
	return n
}

// refused learns from a 429. One of a call that was under way when the last 429 came says nothing new.
func (l *lane) refused(began, now time.Time, after time.Duration) {
	l.age(now)
	if l.distance.limited.IsZero() || l.distance.knownBefore(began) {
		switch n := len(l.recent); {
		case l.distance.said > 0:
			l.distance.widen(now, l.distance.said)
		case n < enough:
			l.distance.widen(now, cmp.Or(l.distance.gap, firstDistance))
		default:
			l.distance.widenTo(now, now.Add(after).Sub(l.recent[0])/time.Duration(n))
		}
	}
	l.until = latest(l.until, now.Add(after))
	l.postpone()
}

// postpone moves the turns that were promised for a time before Slack takes calls again, in their order and at the
// distance that is known now. A turn that nobody comes for costs the others no more than that distance.
func (l *lane) postpone() {
	from := l.until
	earlier := func(a, b string) int { return l.turns[a].Compare(l.turns[b]) }
	for _, what := range slices.SortedFunc(maps.Keys(l.turns), earlier) {
		l.turns[what] = latest(l.turns[what], from)
		from = l.turns[what].Add(l.distance.gap)
	}
	l.next = latest(l.next, from)
}
