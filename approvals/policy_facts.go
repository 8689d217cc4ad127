package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fact names something about a request that a policy may depend on and that the request does not hold.
type Fact string

// The facts. All are those of the moment at which the policy is asked: when the request is created a kept answer of the
// directory will do, when somebody decides and when the call is about to run it is asked anew. What the request holds
// itself, the ids of requester and channel among it, is of the moment of its creation and never changes.
const (
	FactRequesterName   Fact = "requester.name"
	FactRequesterGroups Fact = "requester.groups"
	FactChannel         Fact = "channel" // name, private, shared
)

// PolicyFacts are what was found out for a policy.
type PolicyFacts struct {
	// Told has the facts that were asked for: with nil those that the other fields hold, with an error those that
	// cannot be told.
	Told map[Fact]error

	RequesterName   string
	RequesterGroups []string // ids of user groups
	Channel         Channel  // of a direct conversation: private, without a name
}

// Knows reports whether the fact is known.
func (k PolicyFacts) Knows(f Fact) bool {
	err, told := k.Told[f]
	return told && err == nil
}

// Missing returns those of the facts that nobody has asked for.
func (k PolicyFacts) Missing(facts []Fact) (missing []Fact) {
	for _, f := range facts {
		if _, told := k.Told[f]; !told && !slices.Contains(missing, f) {
			missing = append(missing, f)
		}
	}
	return missing
}

// MissingFactsError says which facts a policy needs before it can answer.
type MissingFactsError struct{ Facts []Fact }

func (e *MissingFactsError) Error() string {
	names := make([]string, len(e.Facts))
	for i, f := range e.Facts {
		names[i] = string(f)
	}
	return "not asked yet: " + strings.Join(names, ", ")
}

// errPolicy marks an ErrUnavailable that comes from the policy.
var errPolicy = errors.New("the policy failed")

// requirement asks the policy about r, and the directory for what the policy wants to know. Its error is
// ErrUnavailable: while a policy fails nobody can approve.
func (g *gatherer) requirement(ctx context.Context, r *Request) (Requirement, error) {
	q, err := g.policy.Requirement(ctx, r, g.told)
	for {
		wants, ok := errors.AsType[*MissingFactsError](err)
		if !ok {
			break
		}
		missing := g.told.Missing(wants.Facts)
		if len(missing) == 0 {
			break // it was told, and asks all the same
		}
		g.find(ctx, missing)
		q, err = g.policy.Requirement(ctx, r, g.told)
	}
	if err != nil {
		return Requirement{}, fmt.Errorf("%w: %w: %w", ErrUnavailable, errPolicy, err)
	}
	return q.complete(), nil
}

// find asks the directory for the facts, at once, and notes each answer or why there is none.
func (g *gatherer) find(ctx context.Context, missing []Fact) {
	errs := make([]error, len(missing))
	atOnce(len(missing), func(i int) error {
		errs[i] = g.findOne(ctx, missing[i])
		return errs[i]
	})
	if g.told.Told == nil {
		g.told.Told = map[Fact]error{}
	}
	for i, f := range missing {
		g.told.Told[f] = errs[i]
	}
}

// findOne asks for one fact, and changes nothing that another one does.
func (g *gatherer) findOne(ctx context.Context, f Fact) (err error) {
	switch f {
	case FactRequesterName:
		var who Person
		who, err = g.person(ctx, g.at.requester)
		if g.told.RequesterName = who.Name; err == nil && who.Name == "" {
			err = fmt.Errorf("name of %s: %w", g.at.requester, ErrNotFound)
		}
	case FactRequesterGroups:
		g.told.RequesterGroups, err = g.dir.GroupsOf(ctx, g.at.requester, g.since)
	case FactChannel:
		if g.at.place.Direct {
			g.told.Channel = Channel{Private: true}
			break
		}
		g.told.Channel, err = g.dir.Channel(ctx, g.at.ws, g.at.place.Channel, g.since)
	default:
		err = fmt.Errorf("fact %q: %w", f, ErrInvalid)
	}
	return err
}

// FactFinder finds out facts about the requester and the conversation of a run.
type FactFinder func(ctx context.Context, run *Run, facts []Fact) PolicyFacts

// factsKey is the key under which a context holds the FactFinder of gates.
type factsKey struct{}

// WithFacts returns a context in which gates find out facts through find.
func WithFacts(ctx context.Context, find FactFinder) context.Context {
	return context.WithValue(ctx, factsKey{}, find)
}

// FindFacts finds out facts for a gate that is asked about a call of the run. In a context without a FactFinder nothing
// can be told.
func FindFacts(ctx context.Context, run *Run, facts []Fact) PolicyFacts {
	find, ok := ctx.Value(factsKey{}).(FactFinder)
	if !ok || run == nil {
		return Untold(facts)
	}
	return find(ctx, run, facts)
}

// Untold are facts of which none can be told.
func Untold(facts []Fact) PolicyFacts {
	told := make(map[Fact]error, len(facts))
	for _, f := range facts {
		told[f] = ErrUnavailable
	}
	return PolicyFacts{Told: told}
}

// findFacts asks the directory anew. Gates are asked outside transactions.
func (w *Worker) findFacts(ctx context.Context, run *Run, facts []Fact) PolicyFacts {
	g := newGatherer(w.directory, w.policy, run.conversation(), time.Now())
	g.find(ctx, g.told.Missing(facts))
	return g.told
}
