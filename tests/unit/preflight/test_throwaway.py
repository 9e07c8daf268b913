# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Throw-away listeners and connections, on real sockets of the loopback interface."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import throwaway
from ansible_collections.ascend.sglang.plugins.module_utils.throwaway import Listener, Target

HERE = "127.0.0.1"
TOKEN = "0123abcd"


@pytest.fixture
def control() -> Iterator[str]:
    """A name of the test's own for the socket by which listeners are ended."""
    name = f"\0ascend-sglang-test-{os.getpid()}-{time.monotonic_ns()}"
    yield name
    throwaway.release(name)


@pytest.fixture
def ports() -> list[int]:
    """Ports that are free."""
    held = [socket.create_server((HERE, 0)) for _unused in range(3)]
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found


def connect(
    port: int, *, host: str = "p1", greets: bool = True, name: str = "d1", source: str = HERE, token: str = TOKEN
) -> str:
    (told,) = throwaway.connect(name, source, [Target(host, HERE, port, greets)], 2.0, token)
    assert (told["host"], told["port"]) == (host, port)
    return f"{told['outcome']} {told['detail']}".strip()


def listens(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex((HERE, port)) == 0


def gone(port: int, seconds: float = 3.0) -> bool:
    until = time.monotonic() + seconds
    while listens(port):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_it_closes_when_everybody_was_there(control, ports):
    one, two, _three = ports
    wanted = [Listener(HERE, one, ("d1", "d2")), Listener(HERE, two, ("d1",))]
    assert throwaway.listen("p1", wanted, 20, TOKEN, control) == {one: "", two: ""}
    assert connect(one) == "ok"
    assert listens(one)
    assert connect(one, name="d2") == "ok"
    assert gone(one)
    assert listens(two)
    assert connect(two) == "ok"
    assert gone(two)
    assert not throwaway.release(control)


def test_it_ends_at_its_deadline(control, ports):
    throwaway.listen("p1", [Listener(HERE, ports[0], ("d1",))], 1, TOKEN, control)
    assert listens(ports[0])
    assert gone(ports[0])


def test_the_next_run_replaces_it(control, ports):
    wanted = [Listener(HERE, ports[0], ("d1",))]
    throwaway.listen("p1", wanted, 20, TOKEN, control)
    assert throwaway.release(control)
    assert throwaway.listen("p1", wanted, 20, TOKEN, control) == {ports[0]: ""}
    assert connect(ports[0]) == "ok"


def test_it_works_where_somebody_else_has_the_name_to_end_it_by(control, ports):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(control)
        throwaway.listen("p1", [Listener(HERE, ports[0], ("d1",))], 20, TOKEN, control)
        assert connect(ports[0]) == "ok"
        assert gone(ports[0])


def test_a_taken_port_and_a_foreign_address(control, ports):
    with socket.create_server((HERE, ports[0])):
        told = throwaway.listen(
            "p1", [Listener(HERE, ports[0], ("d1",)), Listener("203.0.113.1", ports[1], ("d1",))], 20, TOKEN, control
        )
    assert told == {ports[0]: "Address already in use", ports[1]: "Cannot assign requested address"}


def test_a_port_without_a_listener_may_be_taken_too(control, ports):
    """By a connection that goes out of it, and by a socket that is bound and no more."""
    with socket.create_server((HERE, 0)) as server, socket.socket() as out, socket.socket() as bound:
        out.bind((HERE, ports[0]))
        out.connect(server.getsockname())
        bound.bind((HERE, ports[1]))
        wanted = [Listener(HERE, port, ("d1",)) for port in ports]
        told = throwaway.listen("p1", wanted, 20, TOKEN, control)
    assert told == {ports[0]: throwaway.IN_USE, ports[1]: throwaway.IN_USE, ports[2]: ""}


def test_two_runs_at_once_find_listeners(control, ports):
    """The second replaces those of the first, and waits for the first one's visitors a little longer."""
    wanted = [Listener(HERE, port, ("d1",)) for port in ports[:2]]
    assert set(throwaway.listen("p1", wanted, 20, "first", control).values()) == {""}
    assert set(throwaway.listen("p1", wanted, 20, "second", control).values()) == {""}
    for token in ("second", "first"):
        assert [connect(port, token=token) for port in ports[:2]] == ["ok", "ok"]
    assert gone(ports[0], 5.0)
    assert gone(ports[1])


def test_a_run_that_is_opening_its_ports_is_waited_for(control, ports):
    """It cannot be told from a stranger before it has opened them all."""
    turn = socket.socket(socket.AF_UNIX)
    turn.bind(f"{control}-opening")
    held = socket.create_server((HERE, ports[0]))
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(throwaway.listen, "p1", [Listener(HERE, ports[0], ("d1",))], 20, TOKEN, control)
        time.sleep(0.5)
        held.close()
        turn.close()
        assert told.result() == {ports[0]: ""}


def test_the_turn_is_over_when_the_ports_are_open(control, ports):
    throwaway.listen("p1", [Listener(HERE, ports[0], ("d1",))], 20, TOKEN, control)
    until = time.monotonic() + 2
    with socket.socket(socket.AF_UNIX) as turn:
        while True:
            try:
                turn.bind(f"{control}-opening")
                break
            except OSError:
                # The process that listens lets go of it in its first moment.
                assert time.monotonic() < until
                time.sleep(0.01)


def test_whoever_replaces_it_can_be_replaced_at_once(control, ports):
    """The name by which it is found is free when its ports are."""
    wanted = [Listener(HERE, port, ("d1",)) for port in ports]
    for _run in range(50):
        assert throwaway.listen("p1", wanted, 20, TOKEN, control) == dict.fromkeys(ports, "")
    assert throwaway.release(control)
    assert not any(map(listens, ports))


def test_nobody_expected_nothing_opened(control, ports):
    assert throwaway.listen("p1", [Listener(HERE, ports[0], ())], 20, TOKEN, control) == {}
    assert not listens(ports[0])


def test_a_visitor_that_says_nothing_does_not_count(control, ports):
    throwaway.listen("p1", [Listener(HERE, ports[0], ("d1",))], 20, TOKEN, control)
    for _unused in range(3):
        assert listens(ports[0])
    with socket.create_connection((HERE, ports[0])):
        assert connect(ports[0]) == "ok"


def test_the_listener_of_another_host(control, ports):
    throwaway.listen("p2", [Listener(HERE, ports[0], ("d1",))], 20, TOKEN, control)
    assert connect(ports[0]) == "stranger p2"


def test_somebody_else_takes_the_connection(ports):
    with socket.create_server((HERE, ports[0])):
        assert connect(ports[0]).startswith("silent")
        # A running service is sent nothing, and need not say anything.
        assert connect(ports[0], greets=False) == "ok"


def test_a_running_service_is_sent_nothing(ports):
    with socket.create_server((HERE, ports[0])) as server:
        assert connect(ports[0], greets=False) == "ok"
        line, _address = server.accept()
        with line:
            assert line.recv(1) == b""


def test_refused_and_from_an_address_that_is_not_there(ports):
    assert connect(ports[0]).startswith("refused")
    assert connect(ports[0], source="203.0.113.1").startswith("source")


def test_a_name_that_does_not_resolve():
    (told,) = throwaway.connect("d1", HERE, [Target("p1", "no-such-host.invalid", 1, True)], 1.0)
    assert told["outcome"] == "name"


def test_the_route_is_told(ports):
    (told,) = throwaway.connect("d1", HERE, [Target("p1", HERE, ports[0], True)], 1.0)
    assert told["route"] == HERE


def test_ipv6(control, ports):
    if not socket.has_ipv6 or not os.path.exists("/proc/net/if_inet6"):
        pytest.fail("this machine has no IPv6, so nobody knows whether it works")
    throwaway.listen("p1", [Listener("::1", ports[0], ("d1",))], 20, TOKEN, control)
    (told,) = throwaway.connect("d1", "::1", [Target("p1", "::1", ports[0], True)], 2.0, TOKEN)
    assert told["outcome"] == "ok"


def test_many_at_once(control, ports):
    names = tuple(f"d{number}" for number in range(200))
    throwaway.listen("p1", [Listener(HERE, ports[0], names)], 20, TOKEN, control)
    assert {connect(ports[0], name=name) for name in names} == {"ok"}
    assert gone(ports[0])


def test_its_text_runs_by_itself_on_any_python(control, ports):
    """As preflight_connect sends it to a host, where the collection is not."""
    throwaway.listen("p1", [Listener(HERE, ports[0], ("d1",))], 20, TOKEN, control)
    target = {"host": "p1", "address": HERE, "port": ports[0], "greets": True}
    asked = json.dumps(
        {"name": "d1", "source": HERE, "targets": [target], "seconds": 2.0, "token": TOKEN, "release": False}
    )
    code = f"{pathlib.Path(throwaway.__file__).read_text()}\n\nmain({asked!r})\n"
    done = subprocess.run([sys.executable, "-I", "-"], input=code, capture_output=True, text=True, check=True)
    assert [one["outcome"] for one in json.loads(done.stdout)] == ["ok"]


def test_visitors_of_another_run_are_greeted_and_do_not_count(control, ports):
    throwaway.listen("p1", [Listener(HERE, ports[0], ("d1",))], 20, TOKEN, control)
    assert connect(ports[0], token="another") == "ok"
    assert listens(ports[0])
    assert connect(ports[0]) == "ok"
    assert gone(ports[0])


def test_a_listener_that_is_just_being_replaced_is_waited_for(control, ports):
    wanted = [Listener(HERE, ports[0], ("d1",))]
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(connect, ports[0])
        time.sleep(0.3)
        throwaway.listen("p1", wanted, 20, TOKEN, control)
        assert told.result() == "ok"
