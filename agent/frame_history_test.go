package agent

import (
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// conversation draws items as providers and sessions hold them: messages, and calls whose ids come again, whose outputs
// come late and between others, or never.
func conversation(t *rapid.T) []Item {
	items := []Item{UserMessage("go")}
	open := []string{}
	for n := range rapid.IntRange(0, 40).Draw(t, "items") {
		id := strconv.Itoa(rapid.IntRange(0, 5).Draw(t, "id"))
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			items = append(items, UserMessage(strconv.Itoa(n)))
		case 1:
			items = append(items, AssistantMessage(strconv.Itoa(n)))
		case 2:
			items = append(items, Item{Type: ItemReasoning, Text: strconv.Itoa(n)})
		case 3:
			items = append(items, Item{Type: ItemFunctionCall, CallID: id, Name: "look", Arguments: "{}"})
			open = append(slices.DeleteFunc(open, func(other string) bool { return other == id }), id)
		default:
			if len(open) > 0 {
				n := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				items = append(items, CallOutput(open[n], "out"))
				open = slices.Delete(open, n, n+1)
			}
		}
	}
	return items
}

// pairs returns the indexes of calls and their outputs, the simplest way there is: an output belongs to the last call
// with its id before it.
func pairs(items []Item) (list [][2]int) {
	for out := range items {
		for in := out - 1; items[out].IsOutput() && in >= 0; in-- {
			if items[in].IsCall() && items[in].CallID == items[out].CallID {
				list = append(list, [2]int{in, out})
				break
			}
		}
	}
	return list
}

// TestLeftOutTurnsAreWhole leaves out turns at random, several times, while the conversation grows, and looks for calls
// without their outputs, items that are lost or moved, and states that could not be read.
func TestLeftOutTurnsAreWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := &frame{items: conversation(t)}
		f.input = len(f.items)
		gone := make(map[int]bool)
		for range 3 {
			h, shown := f.history()
			note := h.Note
			for i := range h.Turns[:len(h.Turns)-1] {
				h.Turns[i].LeaveOut = rapid.Bool().Draw(t, "leave out")
				for at := shown[i].From; h.Turns[i].LeaveOut && at < shown[i].To; at++ {
					gone[at] = true
				}
			}
			if _, err := f.leaveOut(h, shown, note); err != nil {
				t.Fatal(err)
			}
			if reason := f.checkLeftOut(); reason != "" {
				t.Fatalf("%+v: %s", f.leftOut, reason)
			}
			for _, p := range pairs(f.items) {
				if gone[p[0]] != gone[p[1]] {
					t.Fatalf("%+v tears the call %d from its output %d", f.leftOut, p[0], p[1])
				}
			}
			var want []Item
			said := false
			for i, it := range f.items {
				if !gone[i] {
					want = append(want, it)
				} else if !said {
					want, said = append(want, Item{Type: ItemMessage, Role: RoleDeveloper, Text: f.leftOut.Note}), true
				}
			}
			if diff := gocmp.Diff(want, f.visible()); diff != "" {
				t.Fatal(diff)
			}
			f.items = append(f.items, Item{Type: ItemFunctionCall, CallID: "1"},
				CallOutput("1", "new"), AssistantMessage("so"))
		}
	})
}

// TestTurns tells which items belong together.
func TestTurns(t *testing.T) {
	t.Parallel()
	call := func(id string) Item { return Item{Type: ItemFunctionCall, CallID: id} }
	items := []Item{
		UserMessage("old"), AssistantMessage("answer"), // 0, 1
		UserMessage("first"), UserMessage("second"), // 2, 3
		{Type: ItemReasoning}, call("a"), call("b"), CallOutput("a", ""), CallOutput("b", ""), // 4
		call("c"), UserMessage("meanwhile"), CallOutput("c", ""), // 9
		call("d"), CallOutput("d", ""), // 12
		AssistantMessage("done"), // 14
	}
	want := []span{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 9}, {9, 12}, {12, 14}, {14, 15}}
	if diff := gocmp.Diff(want, turnsOf(items, 0)); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]span{{7, 9}, {9, 12}, {12, 14}, {14, 15}}, turnsOf(items, 7)); diff != "" {
		t.Errorf("from an item on:\n%s", diff)
	}
	f := &frame{items: items, input: 4}
	var asked []int
	h, _ := f.history()
	for i := range h.Turns {
		if h.Turns[i].Asked {
			asked = append(asked, i)
		}
	}
	if diff := gocmp.Diff([]int{2, 3, 5}, asked); diff != "" {
		t.Errorf("first, second and meanwhile were asked:\n%s", diff)
	}
}
