package podspec

import "github.com/preadmit/preadmit/engine/change"

// Toleration returns a toleration of a taint with any value.
func Toleration(key, effect string) map[string]any {
	return map[string]any{"key": key, "operator": "Exists", "effect": effect}
}

// Tolerate adds a toleration to a pod's spec. It replaces a toleration of the same taint.
func Tolerate(spec, toleration map[string]any) {
	replaced := false
	var kept []any
	for _, t := range Maps(spec, "tolerations") {
		if isFor(t, toleration) {
			t, replaced = change.CloneObject(toleration), true
		}
		kept = append(kept, t)
	}
	if !replaced {
		kept = append(kept, change.CloneObject(toleration))
	}
	spec["tolerations"] = kept
}

// isFor reports whether two tolerations are equal except for tolerationSeconds.
func isFor(t, other map[string]any) bool {
	for _, key := range []string{"key", "effect", "operator", "value"} {
		if Text(t, key) != Text(other, key) {
			return false
		}
	}
	return true
}

// Merge adds tolerations to a pod's spec. It drops tolerations that another toleration includes.
func Merge(spec map[string]any, more []map[string]any) {
	all := append(Maps(spec, "tolerations"), more...)
	var merged []map[string]any
	for i, t := range all {
		if !includedIn(t, merged, true) && !includedIn(t, all[i+1:], false) {
			merged = append(merged, t)
		}
	}
	delete(spec, "tolerations")
	for _, t := range merged {
		Append(spec, "tolerations", t)
	}
}

// includedIn reports whether one of several tolerations includes t. If same is true, an equal
// toleration counts too.
func includedIn(t map[string]any, others []map[string]any, same bool) bool {
	for _, other := range others {
		if change.Equal(t, other) && !same {
			continue
		}
		if includes(other, t) {
			return true
		}
	}
	return false
}

// Allowed reports whether a list of tolerations includes all tolerations of a pod's spec.
func Allowed(spec map[string]any, allowed []map[string]any) bool {
	for _, t := range Maps(spec, "tolerations") {
		if len(allowed) > 0 && !includedIn(t, allowed, true) {
			return false
		}
	}
	return true
}

// includes reports whether a toleration tolerates all taints that another one tolerates.
func includes(wide, t map[string]any) bool {
	if change.Equal(wide, t) {
		return true
	}
	anyKey := Text(wide, "key") == "" && Text(wide, "operator") == "Exists"
	if Text(t, "key") != Text(wide, "key") && !anyKey {
		return false
	}
	effect := Text(wide, "effect")
	if effect != "" && effect != Text(t, "effect") {
		return false
	}
	if limit, limited := Int(wide, "tolerationSeconds"); limited && effect == "NoExecute" {
		if seconds, ok := Int(t, "tolerationSeconds"); !ok || seconds > limit {
			return false
		}
	}
	switch Text(wide, "operator") {
	case "Exists":
		return true
	case "Equal", "":
		return Text(t, "operator") == "Equal" && Text(t, "value") == Text(wide, "value")
	}
	return false
}
