//! How private an address is, and who may lead where.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How private an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// Everyone reaches it.
    Public,
    /// Only a private network reaches it.
    Private,
    /// Only neighbours on the wire reach it; clouds tell secrets of machines there.
    LinkLocal,
    /// Only this machine reaches it.
    Loopback,
    /// Nothing is there.
    Nowhere,
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Loopback => "an address of this machine",
            Self::Nowhere => "no address of a server",
        })
    }
}

impl Zone {
    /// Returns the zone of an address. One of version 6 that stands for one of version 4 is in the zone of that.
    pub(super) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => {
                embedded(address).map_or_else(|| Self::of_v6(address), Self::of_v4)
            }
        }
    }

    /// Returns the zone of a host that is a number, or this machine; `None` if it is a name.
    pub(super) fn of_host(host: &str) -> Option<Self> {
        let host = host.trim_end_matches('.');
        if host == "localhost" || host.ends_with(".localhost") {
            return Some(Self::Loopback);
        }
        let number = host.trim_start_matches('[').trim_end_matches(']');
        number.parse().ok().map(Self::of)
    }

    /// Returns the zone of an approved host by what its name stands for. A name in public hands can be made to stand for
    /// anything, so it is never this machine, and only as private as its most public address.
    pub(super) fn of_name(addresses: impl Iterator<Item = IpAddr>) -> Self {
        let mut zones = addresses.map(Self::of).peekable();
        let is_somewhere = zones.peek().is_some();
        let is_private = zones.all(|zone| matches!(zone, Self::Private | Self::Loopback));
        if is_somewhere && is_private { Self::Private } else { Self::Public }
    }

    /// Returns true if a server here may lead to an address there.
    pub(super) const fn may_lead_to(self, there: Self) -> bool {
        match there {
            Self::Public => true,
            Self::Private => matches!(self, Self::Private | Self::Loopback),
            Self::LinkLocal => matches!(self, Self::LinkLocal),
            Self::Loopback => matches!(self, Self::Loopback),
            Self::Nowhere => false,
        }
    }

    const fn of_v4(address: Ipv4Addr) -> Self {
        let [first, second, ..] = address.octets();
        // Shared by the customers of a provider.
        let is_shared = first == 100 && second & 0xC0 == 64;
        if address.is_loopback() {
            Self::Loopback
        } else if address.is_link_local() {
            Self::LinkLocal
        } else if address.is_private() || is_shared {
            Self::Private
        } else if first == 0 || first >= 224 {
            Self::Nowhere
        } else {
            Self::Public
        }
    }

    const fn of_v6(address: Ipv6Addr) -> Self {
        if address.is_loopback() {
            Self::Loopback
        } else if address.is_unicast_link_local() {
            Self::LinkLocal
        } else if address.is_unique_local() {
            Self::Private
        } else if address.is_unspecified() || address.is_multicast() {
            Self::Nowhere
        } else {
            Self::Public
        }
    }
}

/// Returns the address of version 4 in one of version 6: mapped, translated (NAT64) or tunnelled (6to4).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xFFFF, high, low] | [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => {
            Some(joined(high, low))
        }
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_zone() {
        for (zone, addresses) in [
            (Zone::Public, &["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1"][..]),
            (Zone::Private, &["10.0.0.1", "172.16.9.9", "192.168.1.1", "100.64.0.1", "fd00::1"]),
            (Zone::Private, &["::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1"]),
            (Zone::LinkLocal, &["169.254.169.254", "fe80::1", "::ffff:169.254.1.1"]),
            (Zone::Loopback, &["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]),
            (Zone::Nowhere, &["0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1"]),
        ] {
            for address in addresses {
                assert_eq!(Zone::of(address.parse().unwrap()), zone, "{address}");
            }
        }
    }

    #[test]
    fn a_server_leads_to_nothing_that_is_more_private_than_it_is() {
        use Zone::{LinkLocal, Loopback, Nowhere, Private, Public};
        let all = [Public, Private, LinkLocal, Loopback, Nowhere];
        for (from, allowed) in [
            (Public, &[Public][..]),
            (Private, &[Public, Private]),
            (LinkLocal, &[Public, LinkLocal]),
            (Loopback, &[Public, Private, Loopback]),
        ] {
            for to in all {
                assert_eq!(from.may_lead_to(to), allowed.contains(&to), "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn a_host_is_as_private_as_its_most_public_address() {
        for (host, zone) in [
            ("localhost", Some(Zone::Loopback)),
            ("a.localhost.", Some(Zone::Loopback)),
            ("127.0.0.1", Some(Zone::Loopback)),
            ("[::1]", Some(Zone::Loopback)),
            ("169.254.169.254", Some(Zone::LinkLocal)),
            ("mcp.example", None),
        ] {
            assert_eq!(Zone::of_host(host), zone, "{host}");
        }
        let of_name = |addresses: &[&str]| {
            Zone::of_name(addresses.iter().map(|address| address.parse().unwrap()))
        };
        assert_eq!(of_name(&["10.0.0.1", "fd00::1"]), Zone::Private);
        assert_eq!(of_name(&["10.0.0.1", "1.1.1.1"]), Zone::Public);
        assert_eq!(of_name(&["127.0.0.1"]), Zone::Private);
        assert_eq!(of_name(&["169.254.169.254"]), Zone::Public);
        assert_eq!(of_name(&[]), Zone::Public);
    }
}
