package approvals

// mostFew is how many answers are looked through one by one: most decisions need one or two of each kind, for which a
// map takes ten times the memory.
const mostFew = 8

// answers are what questions of one kind came to. The zero value has none.
type answers[K comparable, V any] struct {
	few  []known[K, V]
	many map[K]*answer[V] // all of them, when they are not few
}

type known[K comparable, V any] struct {
	key K
	answer[V]
}

// find returns the answer about the key, which holds until the next put; nil: nobody has asked.
func (a *answers[K, V]) find(key K) *answer[V] {
	if a.many != nil {
		return a.many[key]
	}
	for i := range a.few {
		if a.few[i].key == key {
			return &a.few[i].answer
		}
	}
	return nil
}

// put keeps the answer about the key, in the place of the one before.
func (a *answers[K, V]) put(key K, v answer[V]) {
	if old := a.find(key); old != nil {
		*old = v
		return
	}
	if a.many == nil && len(a.few) < mostFew {
		a.few = append(a.few, known[K, V]{key, v})
		return
	}
	if a.many == nil {
		a.many = make(map[K]*answer[V], 2*mostFew)
		for i := range a.few {
			a.many[a.few[i].key] = &a.few[i].answer
		}
		a.few = nil
	}
	a.many[key] = &v
}

// candidates are people who could still take a seat.
type candidates struct {
	found  []UserID
	sought int // how many were looked for: fewer are all there are
}
