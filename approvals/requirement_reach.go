package approvals

// Impossible reports whether it is certain, without asking who belongs to groups and channels, that nobody can meet the
// requirement for what the requester asks in the place: it names too few people. A set with a group, or with the
// members of a channel, counts as large enough.
func (q *Requirement) Impossible(requester UserID, p Place) bool {
	var people []UserID
	number := make(map[UserID]int)
	var edges [][]int
	for _, seat := range q.Seats {
		a := seat.Approvers
		if len(a.Groups) > 0 || a.ChannelMembers && !p.Direct {
			continue
		}
		named := a.Users
		if a.ChannelMembers {
			named = append(named[:len(named):len(named)], requester)
		}
		var mayTake []int
		for _, u := range named {
			if u == requester && !q.SelfApproval {
				continue
			}
			if _, known := number[u]; !known {
				number[u] = len(people)
				people = append(people, u)
			}
			mayTake = append(mayTake, number[u])
		}
		edges = append(edges, mayTake)
	}
	return taken(edges, len(people)) < len(edges) || len(q.Seats) == 0
}
