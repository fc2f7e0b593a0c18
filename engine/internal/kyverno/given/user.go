package given

import (
	"cmp"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// UserInfo describes the user who makes the request.
type UserInfo struct {
	Name, UID                   string
	Groups, Roles, ClusterRoles []string
}

// IsGiven reports whether any field is set.
func (u UserInfo) IsGiven() bool {
	return u.Name != "" || u.UID != "" || len(u.Groups)+len(u.Roles)+len(u.ClusterRoles) > 0
}

// ReadUserInfo reads documents of kind UserInfo.
func ReadUserInfo(documents []*manifest.Document) (UserInfo, []source.Diagnostic) {
	var u UserInfo
	var problems []source.Diagnostic
	for _, d := range documents {
		r := newReader(d)
		if r.Fields(r.Root, []string{"apiVersion", "kind", "metadata", "roles", "clusterRoles", "userInfo"}) {
			u.Roles = append(u.Roles, r.Strings(r.Root.At("roles"))...)
			u.ClusterRoles = append(u.ClusterRoles, r.Strings(r.Root.At("clusterRoles"))...)
			if info := r.Root.At("userInfo"); info.Given() && r.Fields(info, []string{"username", "uid", "groups", "extra"}) {
				u.Name, u.UID = r.String(info.At("username")), r.String(info.At("uid"))
				u.Groups = r.Strings(info.At("groups"))
			}
		}
		problems = append(problems, r.Problems...)
	}
	return u, problems
}

// Complete sets the missing fields of the requests' user.
func (u UserInfo) Complete(user policy.User) policy.User {
	user.Name, user.UID = cmp.Or(user.Name, u.Name), cmp.Or(user.UID, u.UID)
	if len(user.Groups) == 0 {
		user.Groups = u.Groups
	}
	return user
}
