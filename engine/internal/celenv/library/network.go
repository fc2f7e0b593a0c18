package library

import (
	"fmt"
	"net/netip"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	values "k8s.io/apiserver/pkg/cel"
)

// IP returns the library of IP addresses.
func IP() cel.EnvOption {
	address, aText := signature{values.IPType}, signature{cel.StringType}
	is := func(name, overload string, property func(netip.Addr) bool) cel.EnvOption {
		return on(address, name, overload, cel.BoolType, boolean(property))
	}
	return newLibrary(
		cel.Types(values.IPType),
		of(aText, "ip", "string_to_ip", values.IPType, unary(parseIP)),
		of(aText, "isIP", "is_ip", cel.BoolType, boolean(func(s string) bool {
			_, err := addressOf(s)
			return err == nil
		})),
		of(aText, "ip.isCanonical", "ip_is_canonical", cel.BoolType, unary(isCanonical)),
		of(address, "string", "ip_to_string", cel.StringType, text(netip.Addr.String)),
		on(address, "family", "ip_family", cel.IntType, integer(func(a netip.Addr) int {
			if a.Is4() {
				return 4
			}
			return 6
		})),
		is("isUnspecified", "ip_is_unspecified", netip.Addr.IsUnspecified),
		is("isLoopback", "ip_is_loopback", netip.Addr.IsLoopback),
		is("isLinkLocalMulticast", "ip_is_link_local_multicast", netip.Addr.IsLinkLocalMulticast),
		is("isLinkLocalUnicast", "ip_is_link_local_unicast", netip.Addr.IsLinkLocalUnicast),
		is("isGlobalUnicast", "ip_is_global_unicast", netip.Addr.IsGlobalUnicast),
	)
}

// CIDR returns the library of ranges of IP addresses.
func CIDR() cel.EnvOption {
	network, aText := signature{values.CIDRType}, signature{cel.StringType}
	return newLibrary(
		cel.Types(values.CIDRType),
		of(aText, "cidr", "string_to_cidr", values.CIDRType, unary(parseCIDR)),
		of(aText, "isCIDR", "is_cidr", cel.BoolType, boolean(func(s string) bool {
			_, err := prefixOf(s)
			return err == nil
		})),
		of(network, "string", "cidr_to_string", cel.StringType, text(netip.Prefix.String)),
		on(network, "ip", "cidr_ip", values.IPType, unary(func(p netip.Prefix) ref.Val { return values.IP{Addr: p.Addr()} })),
		on(network, "masked", "cidr_masked", values.CIDRType, unary(func(p netip.Prefix) ref.Val { return values.CIDR{Prefix: p.Masked()} })),
		on(network, "prefixLength", "cidr_prefix_length", cel.IntType, integer(netip.Prefix.Bits)),
		cel.Function("containsIP",
			cel.MemberOverload("cidr_contains_ip_string", signature{values.CIDRType, cel.StringType}, cel.BoolType, binary(containsIPText)),
			cel.MemberOverload("cidr_contains_ip_ip", signature{values.CIDRType, values.IPType}, cel.BoolType, binary(containsIP))),
		cel.Function("containsCIDR",
			cel.MemberOverload("cidr_contains_cidr_string", signature{values.CIDRType, cel.StringType}, cel.BoolType, binary(containsCIDRText)),
			cel.MemberOverload("cidr_contains_cidr", signature{values.CIDRType, values.CIDRType}, cel.BoolType, binary(containsCIDR))),
	)
}

// addressOf parses an address that the API server accepts: without a zone, and not an
// IPv4-mapped IPv6 address.
func addressOf(s string) (netip.Addr, error) {
	address, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return address, fmt.Errorf("IP Address %q parse error during conversion from string: %w", s, err)
	case address.Zone() != "":
		return address, fmt.Errorf("IP address %q with zone value is not allowed", s)
	case address.Is4In6():
		return address, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", s)
	}
	return address, nil
}

func parseIP(s string) ref.Val {
	address, err := addressOf(s)
	if err != nil {
		return types.NewErr("%v", err)
	}
	return values.IP{Addr: address}
}

func isCanonical(s string) ref.Val {
	address, err := addressOf(s)
	if err != nil {
		return types.NewErr("%v", err)
	}
	return types.Bool(address.String() == s)
}

func prefixOf(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return prefix, fmt.Errorf("network address parse error during conversion from string: %w", err)
	case prefix.Addr().Is4In6():
		return prefix, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", s)
	}
	return prefix, nil
}

func parseCIDR(s string) ref.Val {
	prefix, err := prefixOf(s)
	if err != nil {
		return types.NewErr("network address parse error during conversion from string: %v", err)
	}
	return values.CIDR{Prefix: prefix}
}

func containsIP(p netip.Prefix, address netip.Addr) ref.Val { return types.Bool(p.Contains(address)) }

// containsIPText returns no error text about an invalid address, as the server does.
func containsIPText(p netip.Prefix, s string) ref.Val {
	address, err := addressOf(s)
	if err != nil {
		return types.NoSuchOverloadErr()
	}
	return containsIP(p, address)
}

func containsCIDR(p, other netip.Prefix) ref.Val {
	return types.Bool(p.Overlaps(other) && p.Bits() <= other.Bits())
}

func containsCIDRText(p netip.Prefix, s string) ref.Val {
	other, ok := parseCIDR(s).(values.CIDR)
	if !ok {
		return parseCIDR(s) // the error
	}
	return containsCIDR(p, other.Prefix)
}
