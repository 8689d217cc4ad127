package app_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// dan is a further member of the workspace.
const dan = "U0DAN"

// withDan is a workspace that he is in too.
func withDan() slackdev.Config {
	users := append(slackdev.DefaultUsers(), slackdev.User{ID: dan, Name: "dan", RealName: "Dan Dorn"})
	return slackdev.Config{Users: users, Channels: slackdev.DefaultChannels(users)}
}

// whispered waits until somebody alone was told the words.
func (w *world) whispered(user, words string) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s is told %q", user, words), func() bool {
		all := w.slack.Ephemerals(user)
		return len(all) > 0 && strings.Contains(all[len(all)-1].Shown(), words)
	})
}

// window waits for the window that an action opens.
func (w *world) window(user, callback string) (v slackdev.View) {
	w.t.Helper()
	w.until("the window "+callback, func() bool {
		views := w.slack.Views(user)
		if len(views) == 0 || views[len(views)-1].CallbackID != callback {
			return false
		}
		v = views[len(views)-1]
		return true
	})
	return v
}

// submits submits the window on top with a text in it, or with none.
func (w *world) submits(user, text string) {
	w.t.Helper()
	var values map[string]map[string]any
	if text != "" {
		values = map[string]map[string]any{"reason": {"text": text}}
	}
	if answer, err := w.slack.Submit(w.ctx, user, "", values); err != nil || answer["response_action"] == "errors" {
		w.t.Fatalf("%v, %v", answer, err)
	}
}

// reloads has the bot read another agents file.
func (w *world) reloads(bot *process, text string) {
	w.t.Helper()
	w.write("countersign.yaml", text)
	bot.signal(syscall.SIGHUP)
	bot.says("agents file reloaded")
}

// TestDelegateOfTwo: somebody stands in for both of two people who have to agree. The card calls them, a press is
// refused in words for people, and everybody is told what counts while the request waits. Once the delegation is taken
// out of the file, the answer counts no longer.
func TestDelegateOfTwo(t *testing.T) {
	t.Parallel()
	const both = "default_policy: { approvers: { users: [U0CLEO, U0BEN] }, quorum: 2 }\n"
	w := newWorld(t, settings{slack: withDan(), policy: `delegates:
  U0CLEO: { to: U0DAN, until: 2090-12-31 }
  U0BEN: { to: U0DAN, until: 2090-12-31 }
` + both})
	bot := w.start()
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	shows(t, card, "Needs 2 of <@U0CLEO>, <@U0BEN>, not <@U0ANN>", "For <@U0DAN>")

	w.mustClick(dan, card, "approve")
	w.whispered(dan, "You stand in for <@U0CLEO> and <@U0BEN>, and a button does not say for whom of them you decide. "+
		"Nothing was recorded")
	w.must("approvals", "decide", w.pending(), "--approve", "--as", dan, "--for", cleo)
	w.until("the card names both", func() bool {
		m, _ := w.slack.Message(general, card.TS)
		return strings.Contains(m.Shown(), "Needs 1 more of <@U0BEN>, not <@U0ANN> (1 of 2: <@U0DAN> for <@U0CLEO> ")
	})
	w.mustClick(dan, card, "approve")
	w.whispered(dan, "Your answer is recorded already: approved")
	w.mustClick(cleo, card, "approve")
	w.whispered(cleo, "<@U0DAN> has answered for you already: approved")

	w.reloads(bot, fmt.Sprintf(agentsYAML, both))
	w.mustClick(ben, card, "approve")
	w.until("the answer counts no longer", func() bool {
		m, _ := w.slack.Message(general, card.TS)
		return strings.Contains(m.Shown(), "<@U0DAN> for <@U0CLEO> approved") &&
			strings.Contains(m.Shown(), "which counts no longer: not the delegate of that person now")
	})
	w.noEffect()
	w.mustClick(cleo, card, "approve")
	w.settled(card, "Approved by <@U0BEN> and <@U0CLEO>")
	w.answer(thread, "R-1")
	w.onlyEffect(`{"amount":5,"to":"acct"}`)
	w.verified()
}

// TestDelegateOutsideTheChannel gets the card by direct message, and answers there.
func TestDelegateOutsideTheChannel(t *testing.T) {
	t.Parallel()
	slack := withDan()
	slack.Channels = slackdev.DefaultChannels(slackdev.DefaultUsers())
	w := newWorld(t, settings{slack: slack, policy: `delegates: { U0CLEO: { to: U0DAN, until: 2090-12-31 } }
default_policy: { approvers: { users: [U0CLEO] } }
`})
	w.start()
	thread := w.mention("pay 5")
	card := w.card(thread, 1)
	var copied slackdev.Message
	w.until("dan has the card", func() bool {
		all := w.slack.Messages(w.slack.DM(dan))
		if len(all) == 1 {
			copied = all[0]
		}
		return len(all) == 1
	})
	w.mustClick(dan, copied, "approve")
	w.settled(card, "Approved by <@U0DAN> for <@U0CLEO>")
	w.answer(thread, "R-1")
	w.verified()
}

// TestAnswerAboutAChangedTool: while somebody fills in a form, the tool that asks is changed in the agents file, so
// that the agent asks again. The first card does not say that the agent was told.
func TestAnswerAboutAChangedTool(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ask, button, was, is, first, second string
	}{
		"a question": {
			"ask words", "provide_input", "Asks the people in charge.", "Asks other people.",
			"Stale", `"answers":["blue"]`,
		},
		"a result": {
			"deploy", "provide_result", "Deployed by the pipeline.", "Deployed by hand.",
			"ran, as <@U0BEN> reports. Asked again", "blue",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, settings{env: []string{"WORK=" + t.TempDir()}, rules: []openaidev.Rule{
				{User: "ask words", Reply: openaidev.Reply{Calls: []openaidev.Call{{Name: "ask_team",
					Arguments: `{"question":"Which colour?"}`}}}},
				{User: "deploy", Reply: openaidev.Reply{Calls: []openaidev.Call{{Name: "deploy",
					Arguments: `{"ref":"v2.4.1"}`}}}},
			}})
			w.write("countersign.yaml", kindsYAML)
			bot := w.start()
			thread := w.mention(tt.ask)
			first := w.card(thread, 1)
			w.mustClick(ben, first, tt.button)
			w.window(ben, tt.button)
			w.reloads(bot, strings.Replace(kindsYAML, tt.was, tt.is, 1))
			w.submits(ben, "blue")
			second := w.card(thread, 2)
			w.settled(first, tt.first)
			m, _ := w.slack.Message(general, first.TS)
			for _, untrue := range []string{"Answered", "is told", "was told"} {
				if strings.Contains(m.Shown()+m.Text, untrue) {
					t.Errorf("the card says %q:\n%s\n%s", untrue, m.Shown(), m.Text)
				}
			}
			shows(t, m, "the tool's definition (description) changed after it was shown", "Asked anew")
			w.mustClick(cleo, second, tt.button)
			w.window(cleo, tt.button)
			w.submits(cleo, "blue")
			w.answer(thread, tt.second)
			w.verified()
		})
	}
}

// TestTogetherAtOnce: two people answer all calls of a run in windows that were open at the same time, and each of them
// is told of each call what came of it. A form that is sent after the run was cancelled changes nothing.
func TestTogetherAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.start()
	thread := w.mention("pay 5 and 6")
	cards := w.both(thread)
	w.mustClick(ben, cards[0], "approve_all")
	w.window(ben, "approve_all")
	w.mustClick(cleo, cards[1], "reject_all")
	w.window(cleo, "reject_all")
	w.submits(cleo, "not <!channel> *now*")
	w.submits(ben, "")
	for _, says := range []string{"1. pay: 5", "Already decided. Rejected by <@U0CLEO>", "2. pay: 6",
		"Already decided. Rejected by <@U0CLEO>"} {
		if shown := w.window(ben, "words").Shown(); !strings.Contains(shown, says) {
			t.Errorf("%q is not in\n%s", says, shown)
		}
	}
	w.settled(cards[0], "“not <!channel> *now*”")
	w.settled(cards[1], "“not <!channel> *now*”")

	thread = w.mention("pay 7 and 8")
	cards = w.both(thread)
	w.mustClick(ben, cards[0], "approve_all")
	w.window(ben, "approve_all")
	w.mustClick(ann, cards[0], "cancel_run")
	w.window(ann, "cancel_run")
	w.submits(ann, "")
	w.settled(cards[1], "Cancelled by <@U0ANN>")
	w.submits(ben, "")
	const late = "This answer came too late and was not recorded. Cancelled by <@U0ANN>: pay"
	if shown := w.window(ben, "words").Shown(); strings.Count(shown, late) != 2 {
		t.Errorf("ben is told\n%s", shown)
	}
	w.noEffect()
	w.verified()
}

// both waits for the two cards of a thread.
func (w *world) both(thread string) []slackdev.Message {
	w.t.Helper()
	w.card(thread, 2)
	return w.cards(thread)
}

// TestRemovedFromAPrivateChannel: the bot is removed from a private channel while a call runs there. The next card and
// the answer go to the requester, and say why they are there; once the bot is back, whoever may decide finds the
// request.
func TestRemovedFromAPrivateChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{slack: slackdev.Config{Channels: []slackdev.Channel{{ID: general, Private: true,
		Members: []string{ann, ben, cleo}, BotMember: true}}}})
	w.start()
	thread := w.mention("pay 5 then 6")
	release := w.effects.holdBack()
	w.mustClick(ben, w.card(thread, 1), "approve")
	<-w.effects.came
	bot := w.slack.Config().App.BotUserID
	if err := w.slack.Leave(general, bot); err != nil {
		t.Fatal(err)
	}
	release()
	dm := w.slack.DM(ann)
	inDM := func(words ...string) (found slackdev.Message) {
		t.Helper()
		w.until(fmt.Sprintf("a direct message with %q", words), func() bool {
			for _, m := range w.slack.Messages(dm) {
				has := true
				for _, word := range words {
					has = has && strings.Contains(m.Shown(), word)
				}
				if has {
					found = m
				}
			}
			return found.TS != ""
		})
		return found
	}
	inDM("pay: 5", "Approved by <@U0BEN>", "ran")
	card := inDM("I am not in <#C0GENERAL> any more, so this stands here instead.", "Nobody else sees this message",
		"pay: 6", "Needs 1 of the members")
	if err := w.slack.Join(general, bot); err != nil {
		t.Fatal(err)
	}
	id := w.pending()
	if list := w.ephemeral(cleo, ""); !strings.Contains(list, id) {
		t.Errorf("cleo's list: %s", list)
	}
	if shown := w.ephemeral(cleo, "show "+id); !strings.Contains(shown, "pay: 6") {
		t.Errorf("cleo is shown: %s", shown)
	}
	all := w.slack.Ephemerals(cleo)
	w.mustClick(cleo, all[len(all)-1], "approve")
	inDM("<@U0ANN> asks in <#C0GENERAL>", "pay: 6", "Approved by <@U0CLEO>", "ran")
	if m, _ := w.slack.Message(dm, card.TS); decidable(m) {
		t.Errorf("the card in the direct message can be decided:\n%s", m.Shown())
	}
	w.answer(thread, "R-2")
	w.verified()
}
