package podspec

import "github.com/preadmit/preadmit/engine/change"

// Toleration is a toleration of all values of a taint.
func Toleration(key, effect string) map[string]any {
	return map[string]any{"key": key, "operator": "Exists", "effect": effect}
}

// Tolerate gives a pod's spec a toleration, in place of one for the same taint.
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

// isFor reports whether two tolerations differ at most in how long they hold.
func isFor(t, other map[string]any) bool {
	for _, key := range []string{"key", "effect", "operator", "value"} {
		if Text(t, key) != Text(other, key) {
			return false
		}
	}
	return true
}

// Merge gives a pod's spec more tolerations. Those that another one includes are left out.
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

// includedIn reports whether one of several tolerations includes another one, or, if that
// counts, is the same.
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

// Allowed reports whether a list of tolerations includes all that a pod's spec has.
func Allowed(spec map[string]any, allowed []map[string]any) bool {
	for _, t := range Maps(spec, "tolerations") {
		if len(allowed) > 0 && !includedIn(t, allowed, true) {
			return false
		}
	}
	return true
}

// includes reports whether a toleration tolerates all that another one does.
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
