package policycheck

import (
	"cmp"
	"slices"
	"strings"

	"countersign/approvals"
)

// Load is how many requests somebody, or a set of people, is asked about.
type Load struct {
	Who    string `json:"who"`
	Before int    `json:"before"` // under the policies that were in force
	After  int    `json:"after"`  // under the agents file
}

// moment says which of the two policies.
type moment int

const (
	before moment = iota
	after
)

// load counts requests by who is asked. It grows with the people and groups that policies name and with the channels.
type load map[string]*[2]int

// add counts the request for everybody whom the requirement names, once each.
func (l load) add(q *approvals.Requirement, r *approvals.RequestHead, m moment) {
	seen := make(map[string]bool)
	for _, seat := range q.Seats {
		for _, who := range asked(seat.Approvers, r) {
			if seen[who] {
				continue
			}
			seen[who] = true
			if l[who] == nil {
				l[who] = new([2]int)
			}
			l[who][m]++
		}
	}
}

// asked lists whom a set asks about the request.
func asked(a approvals.Approvers, r *approvals.RequestHead) (all []string) {
	for _, u := range a.Users {
		all = append(all, u.Local())
	}
	for _, g := range a.Groups {
		all = append(all, "group "+g)
	}
	switch {
	case a.ChannelMembers && r.Place.Direct:
		all = append(all, r.Requester.Local())
	case a.ChannelMembers:
		all = append(all, "the members of channel "+r.Place.Channel)
	}
	return all
}

// list returns who has most to do first.
func (l load) list() (all []Load) {
	for who, n := range l {
		all = append(all, Load{Who: who, Before: n[before], After: n[after]})
	}
	slices.SortFunc(all, func(a, b Load) int {
		return cmp.Or(b.After-a.After, b.Before-a.Before, strings.Compare(a.Who, b.Who))
	})
	return all
}
