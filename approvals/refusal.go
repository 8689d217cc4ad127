package approvals

// Rule names what a refusal rests on, where a surface says that in words of its own or puts it beside an input of a
// form.
type Rule string

// The rules that refusals name. All others have words alone.
const (
	// RuleRequester: who asked for something does not decide about it.
	RuleRequester Rule = "requester"
	// RuleEditor: who changed the arguments or filled them in does not decide about them.
	RuleEditor Rule = "editor"
	// RuleMember: only regular members of the workspace count. About is what the person is instead: Person.Why.
	RuleMember Rule = "member"
	// RuleWorkspace: people of other workspaces do not count.
	RuleWorkspace Rule = "workspace"
	// RuleApprover: no set of people of the policy holds the person.
	RuleApprover Rule = "approver"
	// RuleFrozen: a freeze is in force, from which the person is not excepted.
	RuleFrozen Rule = "frozen"
	// RuleAsked: only the person who was asked answers. About is that UserID.
	RuleAsked Rule = "asked"
	// RuleForWhom: a delegate of several people has to say for whom. About are their UserIDs, with spaces between them.
	RuleForWhom Rule = "for_whom"
	// RuleRecorded: the person's answer is recorded already and says something else, which stands.
	RuleRecorded Rule = "recorded"

	// RuleField: a value of the arguments has to be another one. About is its name.
	RuleField Rule = "field"

	// The terms of an answer for later calls: how many calls it is for, how long it lasts, and arguments that it is
	// bound to, by the lists of GrantTerms. About is the argument.
	RuleUses    Rule = "uses"
	RuleLasts   Rule = "lasts"
	RuleSame    Rule = "same"
	RuleAtMost  Rule = "at_most"
	RuleWithout Rule = "without"
)

// Refusal is what a Service returns when a rule stands against what somebody asks for. errors.As finds it behind the
// name of what was tried, and errors.Is its Fact.
type Refusal struct {
	Fact  error  // ErrUnauthorized, ErrInvalid or another sentinel of this package
	Rule  Rule   // which rule it is, where one is named
	About string // what the rule is about; see there
	// Why is the reason in words, and what to do instead: they continue a sentence behind a colon, without its end.
	Why string
}

func (e *Refusal) Error() string {
	if e.Why == "" {
		return e.Fact.Error()
	}
	return e.Fact.Error() + ": " + e.Why
}

// Unwrap returns the fact.
func (e *Refusal) Unwrap() error { return e.Fact }

// refuse returns a refusal with these words.
func refuse(fact error, why string) error { return &Refusal{Fact: fact, Why: why} }

// refuse returns a refusal by the rule, with these words.
func (r Rule) refuse(fact error, about, why string) error {
	return &Refusal{Fact: fact, Rule: r, About: about, Why: why}
}
