# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line."""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import signal
import sys

from lab import host, machine
from lab.settings import DATA, MANAGEMENT, ROOT, LabError, need_tools

DESCRIPTION = """\
Throw-away test hosts on this machine: each boots its own systemd in a systemd-nspawn container, with sshd and two
networks, eth0 (management, 198.51.100.NUMBER) and eth1 (data, 203.0.113.NUMBER), and carries a stand-in of CANN, NPUs
and the SGLang engine, and the real sglang-router. State is kept in $LABHOSTS_ROOT, else
/var/lib/ascend-sglang-test-hosts. Needs root."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("labhosts", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared = commands.add_parser("image", help="make what all hosts share and what is kept: base image and router")
    shared.add_argument("--real", action="store_true", help="and the real engine (some minutes, 3.2 GB)")
    up = commands.add_parser("up", help="make a host and power it on")
    up.add_argument("name", help="unique on the machine")
    up.add_argument("number", type=int, help="last part of its addresses, 2 to 254")
    up.add_argument("--hostname", help="what it calls itself; else its name")
    up.add_argument("--npus", type=int, default=16, help="how many NPU stand-ins it has (16)")
    up.add_argument(
        "--kernel", default="new", help="new: scheduler migration cost in debugfs; old: in /proc/sys; locked: nowhere"
    )
    up.add_argument(
        "--governors",
        default="schedutil,performance,powersave",
        help="what cpufreq offers, the first is set; empty: no cpufreq",
    )
    up.add_argument("--engine", default="0.5.13.post1", help="the SGLang version that the stand-in stands for")
    up.add_argument(
        "--real", action="store_true", help="the real engine on a CPU, in /opt/sglang-engine, instead of the stand-in"
    )
    up.add_argument("--knob", action="append", default=[], metavar="NAME=VALUE", help="a setting of the stand-in")
    up.add_argument(
        "nspawn", nargs="*", metavar="NSPAWN_ARG", help="after --: more for systemd-nspawn, such as --bind-ro=DIR"
    )
    for name, text in (
        ("wait", "wait until each host's boot is done"),
        ("down", "destroy hosts, with the last one bridges and key"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("names", nargs="*", metavar="name")
        command.add_argument("--all", action="store_true", help="every host on the machine")
    for name, text in (("kill", "cut the power, keep the disk"), ("boot", "power on again, same disk and addresses")):
        commands.add_parser(name, help=text).add_argument("name")
    link = commands.add_parser("link", help="pull or plug a cable")
    link.add_argument("name")
    link.add_argument("interface", help="eth0 or eth1")
    link.add_argument("state", help="up or down")
    for name, text in (("exec", "run a command in the host without ssh"), ("ssh", "log in, or run a command over ssh")):
        command = commands.add_parser(name, help=text)
        command.add_argument("name")
        command.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    commands.add_parser("list", help="hosts, their addresses, and whether they have power")
    commands.add_parser("purge", help="destroy all hosts and the image: no trace is left")
    commands.add_parser("snapshot", help="write the machine's own state as JSON")
    compare = commands.add_parser("compare", help="say what of the machine's own state differs from a snapshot")
    compare.add_argument("snapshot", type=pathlib.Path)
    return parser


def main() -> int:
    """Do what the command line says; the exit status is that of the command."""
    arguments = _parser().parse_args()
    # `labhosts list | head` is no error.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        return _run(arguments) or 0
    except LabError as error:
        print(f"labhosts: {error}", file=sys.stderr)
        return 1


def _run(given: argparse.Namespace) -> int | None:
    command = given.command
    if command == "snapshot":
        print(json.dumps(machine.snapshot(), indent=1))
        return None
    if command == "compare":
        return _compare(given.snapshot)
    if command == "list":
        return _list()
    need_tools()
    if command == "image":
        host.shared(given.real)
    elif command == "up":
        governors = [word for word in given.governors.split(",") if word]
        name, hostname = given.name, given.hostname or given.name
        kernel = {"kernel": given.kernel, "governors": governors}
        engine = {"npus": given.npus, "engine": given.engine, "real": given.real, "knobs": given.knob}
        host.up(host.Host(name, given.number, hostname, **kernel, **engine, nspawn=given.nspawn))
    elif command in ("wait", "down"):
        {"wait": host.wait, "down": host.down}[command](host.names() if given.all else given.names)
    elif command == "kill":
        host.cut(given.name)
    elif command == "boot":
        host.boot(given.name)
    elif command == "link":
        host.link(given.name, given.interface, given.state)
    elif command in ("exec", "ssh"):
        return {"exec": host.execute, "ssh": host.ssh}[command](given.name, given.words)
    elif command == "purge":
        host.down(host.names())
        shutil.rmtree(ROOT, ignore_errors=True)
    return None


def _list() -> None:
    for each in map(host.load, host.names()):
        power = "up" if each.running else "off"
        print(f"{each.name:24} {power:4} {MANAGEMENT.address(each.number):16} {DATA.address(each.number)}")


def _compare(path: pathlib.Path) -> int:
    differences = machine.compare(json.loads(path.read_text()), machine.snapshot())
    for line in differences:
        note = " (left by an earlier run, and cleared)" if machine.is_cleared_leftover(line) else ""
        print(f"labhosts: {line}{note}", file=sys.stderr)
    left = [line for line in differences if not machine.is_cleared_leftover(line)]
    if not left:
        print("labhosts: the machine is as it was found")
    return 1 if left else 0
