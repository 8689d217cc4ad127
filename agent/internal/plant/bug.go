//go:build !(bug_a || bug_b || bug_c || bug_d || bug_e || bug_f || bug_g || bug_h || bug_i || bug_j || bug_k || bug_m || bug_o)

package plant

const bug = 0
