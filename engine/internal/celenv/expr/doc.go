// Package expr builds, reads and prints CEL expressions. An Expr is an immutable syntax tree of
// cel-go in which macros are not expanded: has(x.y) and list.exists(i, …) are calls.
//
// Laws:
//
//	Parse(e.String()) has the same tree as e
//	e.Pretty() differs from e.String() only in white space and in brackets that change nothing
//
// The files in order: expr.go (making trees), logic.go (conditions, which are simplified),
// read.go (asking trees), places.go (what a tree reads of an object), extract.go (parts that become
// variables), print.go (trees to text).
package expr
