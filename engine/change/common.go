package change

import "slices"

// Common returns a common subsequence of two lists: for each item of to, the index of the item of
// from that it is paired with, or -1. It is a longest one if the lists are short, or if each has no
// item twice. In other lists, the first of some equal items is paired with the first, the second
// with the second, and so on, as far as this keeps the order.
func Common[T comparable](from, to []T) []int {
	if len(from)*len(to) <= maxTable {
		return longestCommon(from, to)
	}
	pairs := unpaired(len(to))
	where := make(map[T][]int, len(from))
	for i, item := range from {
		where[item] = append(where[item], i)
	}
	var found []int // the items of to that from has, too
	var values []int
	for j, item := range to {
		if at := where[item]; len(at) > 0 {
			found, values = append(found, j), append(values, at[0])
			where[item] = at[1:]
		}
	}
	for _, at := range increasing(values) {
		pairs[found[at]] = values[at]
	}
	return pairs
}

// maxTable is how large the table of longestCommon may be.
const maxTable = 1 << 12

// longestCommon returns a longest common subsequence as Common does. Time and memory are the product
// of the lengths.
func longestCommon[T comparable](from, to []T) []int {
	n, m := len(from), len(to)
	length := make([]int32, (n+1)*(m+1))
	at := func(i, j int) *int32 { return &length[i*(m+1)+j] }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if from[i] == to[j] {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	pairs := unpaired(m)
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case from[i] == to[j]:
			pairs[j] = i
			i++
			j++
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
	return pairs
}

// increasing returns the positions of a longest increasing subsequence, the last one first.
func increasing(values []int) []int {
	var tails []int // tails[k]: position of the smallest end of a run of length k+1
	previous := make([]int, len(values))
	for at, v := range values {
		k, _ := slices.BinarySearchFunc(tails, v, func(position, v int) int { return values[position] - v })
		previous[at] = -1
		if k > 0 {
			previous[at] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, at)
		} else {
			tails[k] = at
		}
	}
	if len(tails) == 0 {
		return nil
	}
	positions := make([]int, 0, len(tails))
	for at := tails[len(tails)-1]; at >= 0; at = previous[at] {
		positions = append(positions, at)
	}
	return positions
}
