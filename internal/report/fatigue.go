package report

import (
	"cmp"
	"slices"
	"time"

	"countersign/approvals"
)

// What is told as a sign of fatigue.
const (
	longStreak  = 20 // approvals
	burstLength = 10 // answers
	burstTime   = 5 * time.Minute
	maxListed   = 20
)

// streaks returns the runs of approvals without another answer between that are worth telling, and the length of the
// longest of all. The answers are in order.
func (p *person) streaks(id approvals.UserID) (long []Series, longest int) {
	begin := 0
	for i := 0; i <= len(p.answers); i++ {
		if i < len(p.answers) && p.answers[i].approves() {
			continue
		}
		longest = max(longest, i-begin)
		if i-begin >= longStreak {
			long = append(long, series(id, p.answers[begin:i]))
		}
		begin = i + 1
	}
	return long, longest
}

// bursts returns the answers that came at a rate of burstLength in burstTime or faster. The answers are in order.
func (p *person) bursts(id approvals.UserID) (all []Series) {
	begin, end := 0, 0 // of the burst that is being read; end is 0 for none
	for i := burstLength - 1; i < len(p.answers); i++ {
		first := i - burstLength + 1
		if p.answers[i].at-p.answers[first].at > burstTime.Microseconds() {
			continue
		}
		if end > 0 && first > end {
			all = append(all, series(id, p.answers[begin:end+1]))
			end = 0
		}
		if end == 0 {
			begin = first
		}
		end = i
	}
	if end > 0 {
		all = append(all, series(id, p.answers[begin:end+1]))
	}
	return all
}

func series(id approvals.UserID, answers []answer) Series {
	return Series{
		Person: id, Length: len(answers), From: instant(answers[0].at), To: instant(answers[len(answers)-1].at),
		Median: median(answers),
	}
}

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

// add lists the fast answers of a person.
func (f *Fatigue) add(id approvals.UserID, answers []answer) {
	for i := range answers {
		a := &answers[i]
		if !a.fast() {
			continue
		}
		f.HighRisk += one(a.high)
		f.Fastest = append(f.Fastest, FastAnswer{
			Request: a.request, Person: id, Verdict: a.verdict, At: instant(a.at), Took: float64(a.took) / 1e6,
		})
		if len(f.Fastest) > 50*maxListed {
			f.keepFastest()
		}
	}
}

// bound keeps the first of each list.
func (f *Fatigue) bound() {
	f.keepFastest()
	f.StreakCount, f.BurstCount = len(f.Streaks), len(f.Bursts)
	f.Streaks, f.Bursts = largest(f.Streaks), largest(f.Bursts)
}

func (f *Fatigue) keepFastest() {
	slices.SortFunc(f.Fastest, func(a, b FastAnswer) int {
		return cmp.Or(cmp.Compare(a.Took, b.Took), a.At.Compare(b.At), cmp.Compare(a.Request, b.Request),
			cmp.Compare(a.Person, b.Person), cmp.Compare(a.Verdict, b.Verdict))
	})
	f.Fastest = f.Fastest[:min(len(f.Fastest), maxListed)]
}

func largest(all []Series) []Series {
	slices.SortFunc(all, func(a, b Series) int {
		return cmp.Or(cmp.Compare(b.Length, a.Length), a.From.Compare(b.From), cmp.Compare(a.Person, b.Person))
	})
	return all[:min(len(all), maxListed)]
}
