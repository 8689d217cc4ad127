//go:build bug_c

package plant

const bug = 'c'
