package jmespath

// Order says what of a value depends on the order of the keys of maps. It is random in Kyverno, and
// alphabetical here. Orders grow: the order of a value with parts is the largest one of them.
type Order int

const (
	// Fixed is the order of a value that is always the same.
	Fixed Order = iota
	// Shuffled is the order of lists that always have the same items, in a random order.
	Shuffled
	// Random is the order of a value that has random parts.
	Random
)

// Order returns the order of the value of an expression on variables with given orders.
func (n Node) Order(known map[string]Order) Order {
	return n.order(orders{Fixed, func(name string) Order { return known[name] }})
}

// OrderBelow returns the order of the value of an expression on a value.
func (n Node) OrderBelow(value Order) Order { return n.order(below(value)) }

// orders has the order of the current value of an expression, and those of its fields.
type orders struct {
	current Order
	field   func(name string) Order
}

// below returns the orders for a current value in place of the variables.
func below(current Order) orders { return orders{current, func(string) Order { return current }} }

func (n Node) order(at orders) Order {
	switch n.Op {
	case OpField:
		return at.field(n.Name)
	case OpCurrent:
		return at.current
	case OpLiteral, OpReference:
		return Fixed
	case OpIndex, OpSlice:
		return spoiled(at.current)
	case OpSelect, OpPipe:
		return n.Children[1].order(below(n.Children[0].order(at)))
	case OpProjection, OpValues, OpFilter:
		list := n.Children[0].order(at)
		if n.Op == OpValues {
			list = max(list, Shuffled)
		}
		for _, child := range n.Children[1:] {
			list = max(list, child.order(below(Fixed)))
		}
		return list
	case OpCall:
		return n.orderOfCall(at)
	}
	order := Fixed
	for _, child := range n.Children {
		order = max(order, child.order(at))
	}
	switch {
	case n.Op == OpCompare:
		return spoiled(order)
	case n.Op == OpNot && order == Shuffled: // whether there are items
		return Fixed
	}
	return order
}

// spoiled returns the order of what depends on the order of the items of a list.
func spoiled(list Order) Order {
	if list == Fixed {
		return Fixed
	}
	return Random
}

func (n Node) orderOfCall(at orders) Order {
	order := Fixed
	for _, child := range n.Children {
		if child.Op == OpReference { // evaluated on items
			order = max(order, child.Children[0].order(below(Fixed)))
		} else {
			order = max(order, child.order(at))
		}
	}
	switch n.Name {
	case "keys", "values":
		return max(order, Shuffled)
	case "map", "not_null", "reverse", "to_array":
		return order
	case "avg", "contains", "length", "max", "max_by", "min", "min_by", "sort", "sort_by", "sum", "type":
		if order == Shuffled {
			return Fixed
		}
		return order
	}
	return spoiled(order)
}
