# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data addresses: IPv4, IPv6 and names, canonical, and reachable by other hosts."""

from __future__ import annotations

import contextlib
import ipaddress

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils import addresses
from ansible_collections.ascend.sglang.plugins.plugin_utils.addresses import AddressError, parse
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "kind", "canonical", "url"),
    [
        ("192.0.2.1", "ipv4", "192.0.2.1", "http://192.0.2.1:8000"),
        ("2001:DB8:0:0::1", "ipv6", "2001:db8::1", "http://[2001:db8::1]:8000"),
        ("node1.Example.org", "name", "node1.example.org", "http://node1.example.org:8000"),
        ("n-1", "name", "n-1", "http://n-1:8000"),
        ("10g", "name", "10g", "http://10g:8000"),
    ],
)
def test_an_address_is_canonical_and_goes_into_a_url(text, kind, canonical, url):
    address = parse(text)
    assert (address.kind, address.text, address.url(8000)) == (kind, canonical, url)
    assert parse(canonical) == address


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no address"),
        ("node 1", "is no address"),
        ("<data-address>", "is a placeholder that nobody replaced"),
        ("192.0.2.0/24", "is a network or URL"),
        ("http://192.0.2.1", "is a network or URL"),
        ("[2001:db8::1]", "has brackets"),
        ("fe80::1%eth0", "has a zone"),
        ("192.0.2.300", "is no IPv4 address, and no host name ends in a number"),
        ("192.0.2", "is no IPv4 address, and no host name ends in a number"),
        ("010.0.0.1", "is no IPv4 address, and no host name ends in a number"),
        ("3221225985", "is no IPv4 address, and no host name ends in a number"),
        ("node.1", "is no IPv4 address, and no host name ends in a number"),
        ("0x7f.0.0.0x1", "is no IPv4 address, and no host name ends in a number"),
        ("192.0.2.1:8000", "is no IPv6 address, and a host name has no colon"),
        ("2001:db8:::1", "is no IPv6 address, and a host name has no colon"),
        ("-node", "is neither an address nor a host name"),
        ("node..org", "is neither an address nor a host name"),
        ("nöde", "is neither an address nor a host name"),
        ("a" * 64, "is neither an address nor a host name"),
        ("node1,node2", "is neither an address nor a host name"),
    ],
)
def test_what_is_no_address_is_refused_with_its_reason(text, why):
    with pytest.raises(AddressError) as caught:
        parse(text)
    assert why in str(caught.value)
    assert repr(text) in str(caught.value)
    assert not addresses.is_ip(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.8.8", "loopback"),
        ("::1", "loopback"),
        ("localhost", "loopback"),
        ("localhost.localdomain", "loopback"),
        ("ip6-localhost", "loopback"),
        ("localhost4.localdomain4", "loopback"),
        ("0.0.0.0", "wildcard"),
        ("::", "wildcard"),
        ("0.0.0.9", "names no host"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "multicast or broadcast"),
        ("169.254.3.4", "link-local"),
        ("fe80::1", "link-local"),
        ("::ffff:192.0.2.1", "write the IPv4 address"),
    ],
)
def test_an_address_that_no_other_host_reaches_is_named_as_such(text, why):
    assert why in (addresses.unusable(parse(text)) or "")


@pytest.mark.parametrize("text", ["192.0.2.1", "10.0.0.1", "2001:db8::1", "fd00::1", "node1", "localhosts"])
def test_an_ordinary_address_is_usable(text):
    assert addresses.unusable(parse(text)) is None


@given(st.ip_addresses())
def test_every_ip_address_reads_as_python_reads_it(address):
    assert ipaddress.ip_address(parse(str(address)).text) == address
    assert addresses.is_loopback(str(address)) == address.is_loopback
    assert addresses.is_wildcard(str(address)) == (int(address) == 0)


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_refused_in_words(text):
    with contextlib.suppress(AddressError):
        assert parse(parse(text).text) == parse(text)
    assert addresses.is_loopback(text) in (True, False)
    assert addresses.is_wildcard(text) in (True, False)


def test_a_missing_netaddr_is_one_error_in_words(monkeypatch):
    monkeypatch.setattr(addresses, "NETADDR_ERROR", "No module named 'netaddr'")
    with pytest.raises(CompileError) as caught:
        addresses.require_library()
    assert str(caught.value) == (
        "the controller: the Python library netaddr is missing (No module named 'netaddr'). "
        "Install it for the Python that runs Ansible: pip install netaddr."
    )
