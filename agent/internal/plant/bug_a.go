//go:build bug_a

package plant

const bug = 'a'
