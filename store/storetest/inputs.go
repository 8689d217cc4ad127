package storetest

import (
	"errors"

	"countersign/approvals"
)

func inputs() []promise {
	return []promise{
		{"Inputs",
			"what people add while an agent works is read in the order in which they wrote it, once", testInputs},
	}
}

func testInputs(s *suite) {
	expect := func(limit int, want ...string) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			list, err := tx.Inputs(ws, place, limit)
			got := idsOf(list, func(in *approvals.QueuedInput) string { return string(in.ID) + "/" + in.Text })
			same(s, "inputs", want, got)
			return err
		})
	}
	text := func(id approvals.InputID, text string) *approvals.QueuedInput {
		in := input(id)
		in.Text = text
		return in
	}
	elsewhere := text("inp_2", "elsewhere")
	elsewhere.Place.Thread += "1"
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutInput(text("inp_3", "c")), tx.PutInput(text("inp_1", "a")), tx.PutInput(elsewhere),
			tx.PutInput(text("inp_2", "b")))
	})
	expect(10, "inp_1/a", "inp_2/b", "inp_3/c")
	expect(2, "inp_1/a", "inp_2/b")
	s.update(func(tx approvals.Tx) error { return tx.PutInput(text("inp_1", "changed")) })
	s.reopen()
	expect(1, "inp_1/changed")
	s.update(func(tx approvals.Tx) error { return tx.DeleteInput(text("inp_1", "whatever it says")) })
	s.update(func(tx approvals.Tx) error { return tx.DeleteInput(text("inp_1", "again")) })
	expect(10, "inp_2/b", "inp_3/c")
	s.view(func(tx approvals.Tx) error {
		list, err := tx.Inputs(ws, elsewhere.Place, 10)
		same(s, "inputs elsewhere", []*approvals.QueuedInput{elsewhere}, list)
		return err
	})
}
