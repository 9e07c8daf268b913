# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base image comes from the machine's own Debian archive, in the release that the hosts need."""

from __future__ import annotations

from lab.image import one_line_sources, sources

DEB822 = """\
# The distribution
Types: deb
URIs: http://mirror.example/debian
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: trixie-security
Components: main

Types: deb
URIs: https://packages.example/node
Suites: nodistro
Components: main
"""
ONE_LINE = """\
# deb http://old.example/debian trixie main
deb http://mirror.example/debian trixie main contrib
deb [signed-by=/x.gpg] http://mirror.example/debian-security trixie-security main
deb http://mirror.example/debian trixie-updates main
deb https://packages.example/apt cloud-trixie main
deb-src http://mirror.example/debian trixie main
"""


def test_stanzas_of_the_release_are_taken_for_the_hosts_release():
    found = sources(DEB822, "trixie", "bookworm")
    assert "Suites: bookworm bookworm-updates" in found
    assert "Suites: bookworm-security" in found
    assert "trixie" not in found


def test_other_vendors_stanzas_are_left_out():
    assert "packages.example" not in sources(DEB822, "trixie", "bookworm")


def test_another_release_has_nothing():
    assert sources(DEB822, "forky", "bookworm") == ""


def test_lines_of_the_release_are_taken_for_the_hosts_release():
    assert one_line_sources(ONE_LINE, "trixie", "bookworm").splitlines() == [
        "deb http://mirror.example/debian bookworm main contrib",
        "deb [signed-by=/x.gpg] http://mirror.example/debian-security bookworm-security main",
        "deb http://mirror.example/debian bookworm-updates main",
    ]
