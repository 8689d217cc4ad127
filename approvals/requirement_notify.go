package approvals

// Notify says how the people who may decide learn of a request, beside the card where the run was asked for. It changes
// nothing about who may decide.
type Notify struct {
	// Named is how those are called whom the policy names, by themselves or by a group.
	Named Naming `json:"named,omitempty"`
	// Channel is one more channel of the surface that gets every card; empty: none.
	Channel string `json:"channel,omitempty"`
}

// Naming is a way to call people.
type Naming string

// The ways. Whatever they are, nobody is called to what they may not decide.
const (
	NamingAuto    Naming = ""        // mentioned where they see the card, else a card of their own
	NamingDM      Naming = "dm"      // a card of their own, also where they see the other one
	NamingMention Naming = "mention" // mentioned, whether they see the card or not
	NamingNone    Naming = "none"    // not called
)
