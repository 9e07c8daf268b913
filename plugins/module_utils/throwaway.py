# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Throw-away listeners, and connections to them: proof that a host can reach a port of another.

Imports nothing of the collection, so that its text can be sent to a host as it is.

A listener says who it is, hears who came, and closes once everybody was there that was to come, after a fixed time at
the latest. All listeners of a host are one process. It leaves no file: the next one finds it by an abstract socket.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

_CONTROL = "\0ascend-sglang-preflight"
_GREETING = "ascend.sglang preflight: this is "
_LINE_LIMIT = 300
_AT_A_TIME = 64
_BACKLOG = 256
# Another run may be replacing the listeners at this moment.
_RETRY_SECONDS = 1.0
_RETRY_PAUSE = 0.05
# For how long another run may be opening its ports.
_TURN_SECONDS = 5.0
# Visitors of a run whose listeners were replaced find those of the next for so long after its own visitors were there.
_LINGER_SECONDS = 3

IN_USE = "Address already in use"
"""What `listen` says of a port that something else has, in whatever language errors come there."""


class Listener(NamedTuple):
    """Wanted: a listener at ``address``, ``port``, until each of the hosts in ``expect`` was there."""

    address: str
    port: int
    expect: tuple[str, ...]


class Target(NamedTuple):
    """Wanted: a connection to ``host`` at ``address``, ``port``. ``greets``: whether a throw-away listener is there."""

    host: str
    address: str
    port: int
    greets: bool


def release(control: str = _CONTROL, seconds: float = 2.0) -> bool:
    """End the listeners that an earlier run left on this host; whether there were any."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(seconds)
        try:
            line.connect(control)
            # It closes its listeners before this connection.
            line.recv(1)
        except OSError:
            return False
    return True


def listen(
    host: str, wanted: Sequence[Listener], seconds: int, token: str = "", control: str = _CONTROL
) -> dict[int, str]:
    """Start the listeners in a process of their own. By port: why there is none there, or an empty text.

    Those of another run that began at the same time are replaced: the hosts' names are the same, so its visitors are
    content with these.

    :param token: what visitors of the same run say; those of another run are greeted, and do not count.
    """
    sockets: list[tuple[socket.socket, Listener]] = []
    problems: dict[int, str] = {}
    places = [one for one in wanted if one.expect]
    if not places:
        return problems
    with _turn(f"{control}-opening"):
        replaced = release(control)
        for place in places:
            found, problems[place.port] = _try_to_open(place)
            if found is not None:
                sockets.append((found, place))
        if sockets:
            line = _control(control)
            if os.fork() == 0:
                try:
                    kept = [one.fileno() for one, _wanted in sockets]
                    _detach(kept + ([line.fileno()] if line else []), seconds)
                    _serve(host, token, sockets, line, linger=replaced)
                finally:
                    # Nothing of the caller's may run twice.
                    os._exit(0)
            if line:
                line.close()
    for one, _wanted in sockets:
        one.close()
    return problems


@contextlib.contextmanager
def _turn(name: str) -> Iterator[None]:
    """Open ports while no other run does: one that has ports can then be found by its control socket."""
    until = time.monotonic() + _TURN_SECONDS
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as turn:
        while time.monotonic() < until:
            try:
                turn.bind(name)
                break
            except OSError:
                time.sleep(_RETRY_PAUSE)
        yield


def _control(name: str) -> socket.socket | None:
    """What `release` connects to; None where somebody else has the name: then only time ends the listeners early."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.bind(name)
        line.listen(1)
    except OSError:
        line.close()
        return None
    return line


def _open(address: str, port: int) -> socket.socket:
    family, kind, protocol, _name, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    one = socket.socket(family, kind, protocol)
    try:
        # As servers do: connections of an earlier one that linger are no obstacle.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(place)
        one.listen(_BACKLOG)
    except OSError:
        one.close()
        raise
    return one


def _try_to_open(wanted: Listener) -> tuple[socket.socket | None, str]:
    """The socket, or why there is none."""
    try:
        return _open(wanted.address, wanted.port), ""
    except OSError as problem:
        return None, IN_USE if problem.errno == errno.EADDRINUSE else problem.strerror or str(problem)


def _detach(keep: Iterable[int], seconds: int) -> None:
    """Leave the session that started this: it must neither wait for this process nor take it along."""
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # The kernel ends the process then, whatever it does.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    kept = {0, 1, 2, *keep}
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):  # the one that listed them is closed already
                os.close(int(name))


def _serve(
    host: str,
    token: str,
    sockets: Sequence[tuple[socket.socket, Listener]],
    line: socket.socket | None,
    *,
    linger: bool,
) -> None:
    waiting = selectors.DefaultSelector()
    open_ports = {wanted.port: one for one, wanted in sockets}
    left = {wanted.port: set(wanted.expect) for _one, wanted in sockets}
    ending = False
    for port, one in open_ports.items():
        one.setblocking(False)
        waiting.register(one, selectors.EVENT_READ, ("listener", port))
    if line:
        waiting.register(line, selectors.EVENT_READ, ("control", 0))
    while open_ports:
        for key, _events in waiting.select():
            source: Any = key.fileobj
            kind, port = key.data
            if kind == "control":
                _end(source, open_ports)
                return
            if kind == "listener":
                _greet(source, port, host, waiting)
                continue
            said, _blank, name = _farewell(source, waiting).partition(" ")
            if said == token:
                left[port].discard(name)
            if linger:
                if not ending and not any(left.values()):
                    ending = True
                    # Not beyond what was left of its time.
                    signal.alarm(min(_LINGER_SECONDS, signal.alarm(0) or _LINGER_SECONDS))
            elif not left[port] and port in open_ports:
                waiting.unregister(open_ports[port])
                open_ports.pop(port).close()


def _end(line: socket.socket, open_ports: Mapping[int, socket.socket]) -> None:
    """Asked to end by `release`: it goes on when its connection closes, and finds the ports and this name free."""
    visitor, _address = line.accept()
    for one in open_ports.values():
        one.close()
    line.close()
    visitor.close()


def _greet(source: socket.socket, port: int, host: str, waiting: selectors.BaseSelector) -> None:
    try:
        visitor, _address = source.accept()
        visitor.setblocking(False)
        visitor.send(f"{_GREETING}{host}\n".encode())
    except OSError:
        return
    waiting.register(visitor, selectors.EVENT_READ, ("visitor", port))


def _farewell(visitor: socket.socket, waiting: selectors.BaseSelector) -> str:
    """The token of its run, a blank, and who it was; an empty text for one that did not say."""
    waiting.unregister(visitor)
    with visitor:
        try:
            return visitor.recv(_LINE_LIMIT).decode("utf-8", "replace").strip()
        except OSError:
            return ""


def connect(name: str, source: str, targets: Sequence[Target], seconds: float, token: str = "") -> list[dict[str, Any]]:
    """Try all connections at once, from one's own address. One entry each, with ``host`` and ``port``.

    ``outcome``: ``ok``; ``source`` (the own address is not there); ``name`` (the target's cannot be resolved);
    ``rejected``, ``refused``, ``timeout``, ``unreachable``; ``silent`` (it took the connection and said nothing);
    ``stranger`` (somebody else answered, in ``detail``); ``error`` (in ``detail``). ``route``: the own address that the
    kernel would choose for this target by its routes.
    """
    with ThreadPoolExecutor(max(1, min(_AT_A_TIME, len(targets)))) as pool:
        tried = list(pool.map(lambda target: _try(f"{token} {name}", source, target, seconds), targets))
    return [
        {"host": target.host, "port": target.port, "outcome": outcome, "detail": detail, "route": route}
        for target, (outcome, detail, route) in zip(targets, tried)
    ]


_OUTCOMES: Mapping[int, str] = {
    errno.EADDRNOTAVAIL: "source",
    errno.EHOSTUNREACH: "rejected",
    errno.EACCES: "rejected",
    errno.EPERM: "rejected",
    errno.ECONNREFUSED: "refused",
    errno.ENETUNREACH: "unreachable",
    errno.ETIMEDOUT: "timeout",
}


def _try(me: str, source: str, target: Target, seconds: float) -> tuple[str, str, str]:
    try:
        found = socket.getaddrinfo(target.address, target.port, type=socket.SOCK_STREAM)[0]
    except OSError as problem:
        return "name", problem.strerror or str(problem), ""
    family, place = found[0], found[4]
    try:
        own = socket.getaddrinfo(source, 0, family, type=socket.SOCK_STREAM)[0][4]
    except OSError as problem:
        return "source", problem.strerror or str(problem), _route(family, place)
    until = time.monotonic() + _RETRY_SECONDS
    outcome, detail = _once(me, family, own, place, target, seconds)
    while outcome == "refused" and target.greets and time.monotonic() < until:
        time.sleep(_RETRY_PAUSE)
        outcome, detail = _once(me, family, own, place, target, seconds)
    return outcome, detail, _route(family, place)


def _once(me: str, family: int, own: Any, place: Any, target: Target, seconds: float) -> tuple[str, str]:
    with socket.socket(family, socket.SOCK_STREAM) as line:
        line.settimeout(seconds)
        try:
            line.bind(own)
            line.connect(place)
        except socket.timeout:
            return "timeout", f"no answer within {seconds:g} s"
        except OSError as problem:
            return _OUTCOMES.get(problem.errno or 0, "error"), problem.strerror or str(problem)
        return _listen_to(line, me, target) if target.greets else ("ok", "")


def _route(family: int, place: Any) -> str:
    """The own address towards a place, as the routes have it; nothing is sent. Empty where there is no route."""
    with socket.socket(family, socket.SOCK_DGRAM) as line:
        try:
            line.connect(place)
            return str(line.getsockname()[0])
        except OSError:
            return ""


def _listen_to(line: socket.socket, me: str, target: Target) -> tuple[str, str]:
    try:
        said = line.recv(_LINE_LIMIT).decode("utf-8", "replace").strip()
        line.sendall(f"{me}\n".encode())
    except OSError as problem:
        return "silent", problem.strerror or str(problem)
    if said == _GREETING + target.host:
        return "ok", ""
    if said.startswith(_GREETING):
        return "stranger", said[len(_GREETING) :]
    return "silent", ""


def main(text: str) -> None:
    """Do what a JSON text asks for, with the options of preflight_connect, and write the answers."""
    asked = json.loads(text)
    if asked["release"]:
        release()
    targets = [Target(one["host"], one["address"], one["port"], one["greets"]) for one in asked["targets"]]
    json.dump(connect(asked["name"], asked["source"], targets, asked["seconds"], asked["token"]), sys.stdout)
