//go:build bug_i

package plant

const bug = 'i'
