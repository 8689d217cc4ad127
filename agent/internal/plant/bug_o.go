//go:build bug_o

package plant

const bug = 'o'
