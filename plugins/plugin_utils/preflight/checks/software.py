# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The software of the services: Python, its packages, CANN and ATB, the driver's version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.parsers import CHECK, LIMIT, servers
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import (
    Problem,
    Situation,
    after,
    check,
    engine_hosts,
    error,
    odd_ones,
    some,
    unknown,
    warning,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.seats import TRANSFER_BACKEND
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service
from ansible_collections.ascend.sglang.plugins.plugin_utils.store_service import MODULE as STORE_MODULE


@dataclass(frozen=True)
class Written:
    """What the image held with which a version's recipes were written. Empty: not known."""

    cann: str
    torch_npu: str
    python: str


# From the tag of the image that the recipe pages name, and what was in it.
_WRITTEN: Mapping[str, Written] = {"0.5.13.post1": Written("9.0", "2.10", "3.11")}

_ZBAL = ("SGLANG_ZBAL_", "ZBAL_")
_BACKEND_FLAG = "--disaggregation-transfer-backend"


@check(
    "python",
    explains="Services are started by sglang_python, under systemd and as their own user.",
    remedy="Install it, or set sglang_python to the one that has SGLang.",
)
def python(situation: Situation) -> Iterator[Problem]:
    """The interpreter is there, and systemd can run it as each of the services' users."""
    for host in situation.hosts:
        answer = situation.answers[host]["python"]
        if situation.answers[host].get("uid", 0) != 0:
            yield unknown(host, "only root can ask systemd to run it")
            continue
        if answer["path"] is None:
            yield error(host, f"there is no Python interpreter {situation.settings.text('sglang_python')}")
            continue
        users = answer.get("users") or {}
        said = {one["error"] for one in users.values()} if users else {answer["error"]}
        do = "Look for a mount with noexec, SELinux labels, or a directory on the way that the account may not enter"
        for text in sorted(said - {""}):
            yield error(host, text, do)


@check(
    "version",
    explains="Flags are spelled for one version of SGLang; another one refuses some of them, or reads them otherwise.",
    remedy="Install that version for sglang_python, or set sglang_engine to the hosts' version.",
)
def version(situation: Situation) -> Iterator[Problem]:
    """SGLang and the router are there in the planned versions."""
    for host in situation.hosts:
        if not _packages_known(situation, host):
            yield unknown(host, "its Python could not be asked")
            continue
        if host in situation.engines:
            yield from _planned(situation, host, "sglang", situation.engine)
        if any(one.role == "router" for one in situation.own[host]):
            yield from _planned(situation, host, "sglang-router", situation.router)


def _packages_known(situation: Situation, host: str) -> bool:
    answer = situation.answers[host]["python"]
    return answer["path"] is not None and bool(answer["version"])


def _planned(situation: Situation, host: str, package: str, planned: str) -> Iterator[Problem]:
    answer = situation.answers[host]["python"]
    installed = answer["packages"].get(package)
    if installed is None:
        do = f"Install {package} {planned} for it, or set sglang_python to the one that has it"
        yield error(host, f"{answer['path']} has no package {package}", do)
    elif not installed:
        yield warning(host, f"{package} is there without metadata, so its version is not known; planned is {planned}")
    # A local build label (0.5.13.post1+npu) does not change the command grammar.
    elif installed.partition("+")[0] != planned:
        what = f"{package} is {installed} there, and the plan is spelled for {planned}"
        # Servers' flags differ from version to version; the router's grammar is one for all.
        yield error(host, what) if package == "sglang" else warning(host, what, f"Install {package} {planned}")


def _servers(situation: Situation) -> tuple[str, ...]:
    return tuple(host for host in situation.hosts if servers(situation.services, host))


@check(
    CHECK,
    explains="The parser of the SGLang that is installed has the last word on what a command line may say.",
    remedy="Correct or remove it in sglang_<role>_args, or set sglang_engine to the version that is installed.",
    scope=_servers,
)
def installed_parser(situation: Situation) -> Iterator[Problem]:
    """The installed SGLang takes every flag of its servers; where it cannot be asked, the engine file has to do."""
    for host in _servers(situation):
        answer = situation.answers[host]["python"]
        package = answer["packages"].get("sglang")
        if package is None:
            yield unknown(host, "it has no SGLang to ask")
            continue
        told = situation.parsers.get(host) if situation.settings.number(LIMIT) else None
        if told is None or told["error"]:
            why = told["error"] if told is not None else _not_asked(situation, host)
            yield unknown(host, f"{why}: taken from the engine file of {situation.engine} instead")
            continue
        for one in servers(situation.services, host):
            where = f"sglang_{one.role}_args, {one.unit}"
            said = told["answers"].get(one.unit) or {"refused": (), "deprecated": ()}
            for fault in said["refused"]:
                words = " ".join([fault["flag"], *map(str, fault["words"])]).strip()
                what = f"SGLang {package} there refuses {_short_text(words) or 'the command line'}: {fault['why']}"
                yield error(host, what, _instead(fault, package), where)
            if package.partition("+")[0] == situation.engine:
                continue  # the engine file is of that version and has told what is deprecated
            for fault in said["deprecated"]:
                what = f"{fault['flag']} is deprecated in SGLang {package}, which is installed there"
                do = f"Use {fault['instead']} instead" if fault["instead"] else "Leave it out"
                yield warning(host, what, do, where)


def _not_asked(situation: Situation, host: str) -> str:
    facts = situation.answers[host]
    if not situation.settings.number(LIMIT):
        return f"{LIMIT} is 0, so its parser was not asked"
    if facts.get("uid", 0) != 0:
        return "only root can ask systemd to run it"
    if not facts["python"].get("parser"):
        return "the SGLang there has no sglang.srt.server_args"
    return "its parser was not asked"


def _instead(fault: Mapping[str, Any], package: str) -> str:
    near = f"Did you mean {' or '.join(fault['near'])}? Otherwise " if fault["near"] else ""
    rest = f"leave it out, or set sglang_engine to {package.partition('+')[0] or 'the version that is installed'}"
    return near + (rest if near else rest[0].upper() + rest[1:])


def _short_text(text: str, most: int = 120) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _needs(service: Service) -> dict[str, str]:
    """The packages that a service imports when it starts, and why."""
    needed: dict[str, str] = {}
    if service.npus is not None:
        needed["torch-npu"] = "every server needs"
    if _is_store(service):
        needed["memfabric-hybrid"] = "the store is a part of"
    elif service.role in ("prefill", "decode") and after(service.argv, _BACKEND_FLAG) == TRANSFER_BACKEND:
        needed["memfabric-hybrid"] = f"prefill and decode need for {_BACKEND_FLAG} {TRANSFER_BACKEND}"
    if any(name.startswith(_ZBAL) for name in service.env):
        needed["memfabric-zbal"] = "the ZBAL variables of its services need"
    return needed


def _is_store(service: Service) -> bool:
    return service.module == STORE_MODULE


def _with_store(situation: Situation) -> tuple[str, ...]:
    """The hosts with servers, and that of a dedicated store."""
    stores = (host for host in situation.hosts if any(map(_is_store, situation.own[host])))
    return tuple(dict.fromkeys((*situation.engines, *stores)))


@check(
    "packages",
    explains="A package that a service imports when it starts: torch_npu for every server, memfabric-hybrid where "
    "prefill and decode meet by it, and for a store of their own, memfabric-zbal where ZBAL is switched on.",
    remedy="Install it for sglang_python. memfabric and mooncake on PyPI are other projects.",
    scope=_with_store,
)
def packages(situation: Situation) -> Iterator[Problem]:
    """What the servers and the store import is installed."""
    for host in _with_store(situation):
        if not _packages_known(situation, host):
            yield unknown(host, "its Python could not be asked")
            continue
        answer = situation.answers[host]["python"]
        needed: dict[str, str] = {}
        for one in situation.own[host]:
            for package, why in _needs(one).items():
                needed.setdefault(package, why)
        devices = bool((situation.looked(host).get("devices") or {}).get("npus"))
        for package, why in needed.items():
            if package in answer["packages"]:
                continue
            what = f"{answer['path']} has no package {package}, which {why}"
            # What talks to NPUs is of no use on a host that has none: npu-driver says what that means.
            if devices or package == "memfabric-hybrid":
                yield error(host, what)
            else:
                yield unknown(host, f"{package} is not there, and neither are NPUs")
        torch, torch_npu = (_short(answer["packages"].get(name, "")) for name in ("torch", "torch-npu"))
        if host in situation.engines and torch and torch_npu and torch != torch_npu:
            what = f"torch is {answer['packages']['torch']}, torch-npu is {answer['packages']['torch-npu']}"
            yield error(host, f"{what}: they are released in pairs", "Install the two of one release")


def _short(version: str) -> str:
    """Major and minor number."""
    return ".".join(version.split(".")[:2])


def _package(name: str) -> Callable[[Situation, str], str]:
    return lambda situation, host: str(situation.answers[host]["python"]["packages"].get(name, ""))


def _cann(part: str) -> Callable[[Situation, str], str]:
    def read(situation: Situation, host: str) -> str:
        found = (situation.answers[host].get("cann") or {}).get(part) or {}
        return str(found.get("version") or "").lower()

    return read


def _driver(situation: Situation, host: str) -> str:
    return str((situation.looked(host).get("driver") or {}).get("driver", "")).lower()


# Ranks of an instance load one another's code and data: of these a difference is a fault. The others are released to
# work with their neighbours.
_STRICT = {name: _package(name) for name in ("sglang", "torch", "torch-npu", "memfabric-hybrid", "memfabric-zbal")}
# A store of its own and those that meet there speak by this one.
_OF_STORE = "memfabric-hybrid"
_LENIENT: Mapping[str, Callable[[Situation, str], str]] = {
    "the NPU driver": _driver,
    "CANN": _cann("toolkit"),
    "ATB": _cann("atb"),
    "Python": lambda situation, host: _short(str(situation.answers[host]["python"]["version"])),
}


@check(
    "versions-equal",
    explains="Servers of one plan exchange data in formats of their libraries, which change between versions.",
    remedy="Install the same version on all hosts with servers; of memfabric-hybrid also on the store's.",
    scope=_with_store,
)
def equal(situation: Situation) -> Iterator[Problem]:
    """The servers' hosts have the same versions, and the store's host theirs of memfabric-hybrid."""
    yield from situation.alone(one.host for one in situation.services if one.npus is not None or _is_store(one))
    for parts, level in ((_STRICT, error), (_LENIENT, warning)):
        for name, read in parts.items():
            hosts: dict[str, list[str]] = {}
            for host in _with_store(situation) if name == _OF_STORE else situation.engines:
                hosts.setdefault(read(situation, host), []).append(host)
            hosts.pop("", None)
            usual, others = odd_ones(hosts)
            for version, minority in others:
                yield level(minority, f"{name} is {version} there and {usual} on {some(hosts[usual or ''])}")


@check(
    "versions-fit",
    explains="A recipe was written and measured with one CANN, torch_npu and Python.",
    remedy="Nobody has promised that others work; use the versions of the image that the recipe page names.",
    scope=engine_hosts,
)
def fit(situation: Situation) -> Iterator[Problem]:
    """CANN, torch_npu and Python are those that the profile's SGLang was documented with."""
    written = _WRITTEN.get(situation.engine)
    if written is None:
        yield unknown(situation.engines, f"it is not known with which CANN SGLang {situation.engine} was documented")
        return
    torch_npu = _package("torch-npu")
    for name, wanted, read in (
        ("CANN", written.cann, _cann("toolkit")),
        ("torch-npu", written.torch_npu, torch_npu),
        ("Python", written.python, _LENIENT["Python"]),
    ):
        found: dict[str, list[str]] = {}
        for host in situation.engines:
            found.setdefault(read(situation, host), []).append(host)
        for version, hosts in found.items():
            if version and _short(version) != wanted:
                yield warning(hosts, f"{name} is {version}; SGLang {situation.engine} was documented with {wanted}")


def _cann_check(part: str, name: str, names: tuple[str, ...]) -> Callable[[Situation], Iterator[Problem]]:
    def judge(situation: Situation) -> Iterator[Problem]:
        for host in situation.hosts:
            if not any(one.source for one in situation.own[host]):
                continue
            for one in (situation.answers[host].get("cann") or {}).get("problems", ()):
                if one["check"] in names:
                    level = error if one["level"] == "error" else warning
                    yield level(host, str(one["what"]).rstrip("."), str(one["do"]).rstrip("."), str(one["where"]))

    judge.__doc__ = f"{name} is found, whole, once."
    return judge


def _sourcing(situation: Situation) -> tuple[str, ...]:
    return tuple(host for host in situation.hosts if any(one.source for one in situation.own[host]))


cann_toolkit = check(
    "cann-toolkit",
    explains="Services source the toolkit's set_env.sh, whose place changed between releases.",
    remedy="Install the CANN toolkit, or set cann_toolkit to its set_env.sh.",
    scope=_sourcing,
)(_cann_check("toolkit", "The CANN toolkit", ("cann-toolkit",)))

cann_atb = check(
    "cann-atb",
    explains="Services source the set_env.sh of ATB, whose operators attention needs.",
    remedy="Install ATB (nnal), or set cann_atb to its set_env.sh.",
    scope=_sourcing,
)(_cann_check("atb", "ATB", ("cann-atb",)))

cann_versions = check(
    "cann-versions",
    explains="The toolkit and ATB are released together.",
    remedy="Install the two of one release.",
    scope=_sourcing,
)(_cann_check("both", "A pair of one release", ("cann-versions",)))
