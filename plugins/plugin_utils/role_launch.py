# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a role starts after translation to the cluster's SGLang version and after the user's overrides.

Still the same for every instance and node of the role: placeholders are filled in later.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ansible_collections.ascend.sglang.plugins.module_utils import kept_out
from ansible_collections.ascend.sglang.plugins.plugin_utils.deviations import Reasons
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.check import check
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.environment import check_env
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.problem import Problem
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.translate import translate
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.values import check_values
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.wordtypes import integer
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.placeholders import misspelled
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import RoleProfile
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import BY_NAME
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain, describe

T = TypeVar("T")

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

# Flags and variables that the compiler derives, and the setting to use instead.
_DERIVED_FLAGS: Mapping[str, str] = {
    "model-path": "Set sglang_model_path",
    "speculative-draft-model-path": "Set sglang_draft_model_path",
    "disaggregation-mode": "It follows from the group that a host is in",
    "node-rank": "It follows from the order of the inventory; pin it with sglang_node_rank",
    "nnodes": "The number of nodes of an instance is the profile's",
    "prefill": "It lists the prefill instances of the plan",
    "decode": "It lists the decode instances of the plan",
    "worker-urls": "It lists the mixed instances of the plan",
    "pd-disaggregation": "It follows from the profile",
    "api-key": "A secret never stands on a command line: set sglang_api_key",
}
_SECRET_FLAGS = frozenset(
    {
        "admin-api-key",
        "ssl-keyfile-password",
        "control-plane-api-keys",
        "oracle-password",
        "postgres-db-url",
        "redis-url",
    }
)
_DERIVED_VARIABLES: Mapping[str, str] = {
    "ASCEND_MF_STORE_URL": "It is the address of the store's host; see sglang_store",
    "SGLANG_HOST_IP": "Set sglang_data_address on the host",
    "HCCL_SOCKET_IFNAME": "Set sglang_interface on the host",
    # By HCCL's documentation it outranks HCCL_SOCKET_IFNAME, and here it would be one address for all hosts.
    "HCCL_IF_IP": "Leave it out: HCCL finds the address by the interface. Set sglang_data_address on the host, or "
    "sglang_interface",
    "GLOO_SOCKET_IFNAME": "Set sglang_interface on the host",
    "ASCEND_RT_VISIBLE_DEVICES": "Leave it out: each server gets NPUs of its own. Name their first with base-gpu-id",
}
# Variables whose value the compiler calculates with.
_PORTS = frozenset({"HCCL_IF_BASE_PORT"})


@dataclass(frozen=True)
class RoleLaunch:
    """The launch of a role: arguments and environment with placeholders, and why they are not the page's.

    user_args, user_env: names that the user set or removed, flags by their one full name.
    """

    profile: RoleProfile
    page_engine: Engine
    engine: Engine
    args: Mapping[str, Plain]
    env: Mapping[str, str]
    unset: tuple[str, ...]
    user_args: frozenset[str]
    user_env: frozenset[str]
    reasons: Reasons

    @property
    def role(self) -> str:
        return self.profile.role

    def integer(self, name: str, default: int) -> int:
        """The value of a whole-number flag; the default also where it is no number, which is reported elsewhere."""
        return whole(self.args.get(name), default)


def whole(value: Plain, default: int) -> int:
    """A flag's value as the number that the program reads in it. A list of one value is that value."""
    number = integer(value[0] if isinstance(value, list) and len(value) == 1 else value)
    return default if number is None else number


def launch(
    profile: RoleProfile,
    page_engine: Engine,
    engine: Engine,
    user_args: Mapping[str, Plain],
    user_env: Mapping[str, Plain],
) -> tuple[RoleLaunch, list[Finding]]:
    """Translate, then override. Findings are about the user's settings and about what cannot be translated."""
    reasons = Reasons()
    page: dict[str, Any] = dict(profile.args)
    translation = translate(page, profile.env, source=page_engine, target=engine, role=profile.role)
    for change in translation.changes:
        reasons.note(change.kind, change.name, "engine-translation", change.why)
    findings = _findings(translation.problems)
    for name, spelling in profile.page.items():
        if spelling.flag is not None:
            reasons.note_flag(spelling.flag, "flag-in-full")
            reasons.note_flag(name, "flag-in-full")
        elif spelling.words is not None:
            reasons.note_flag(name, "json-one-argument")
    translated = _in_full(translation.args, engine, reasons)
    args, found = override_args(translated, user_args, engine, profile.role, reasons)
    findings += found
    env, found = _override_env(translation.env, user_env, profile.role, reasons)
    findings += found
    kept = kept_out.PROXIES if profile.role == "router" else kept_out.OF_ENGINES
    env = without_kept_out(env, kept, reasons)
    unset = []
    for name in profile.unset:
        if name in env and name in user_env:
            reasons.note("unset", name, "override")
        else:
            unset.append(name)
    for name in kept:
        if name not in unset:
            unset.append(name)
            reasons.note("unset", name, "environment-kept-out")
    named = frozenset(_full_name(engine, name) for name in user_args)
    return RoleLaunch(
        profile, page_engine, engine, args, env, tuple(unset), named, frozenset(user_env), reasons
    ), findings


def without_kept_out(env: Mapping[str, T], kept: Collection[str], reasons: Reasons) -> dict[str, T]:
    """The environment but for variables that reach no service; a page that exports one differs from the plan in it.

    What they are for is derived: SGLANG_HOST_IP and HCCL_SOCKET_IFNAME stand for HOST_IP and HCCL_IF_IP, and
    --base-gpu-id for ASCEND_RT_VISIBLE_DEVICES.
    """
    for name in env:
        if name in kept:
            reasons.note("env", name, "environment-kept-out")
    return {name: value for name, value in env.items() if name not in kept}


def _findings(problems: Iterable[Problem]) -> list[Finding]:
    return [
        Finding(problem.level, problem.check, problem.where, problem.what, _sentence(problem.do))
        for problem in problems
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def check_args(engine: Engine, args: Mapping[str, Any], where: str, role: str, *, complete: bool) -> list[Finding]:
    """What the version's own parser would refuse, as findings."""
    return _findings(check(engine, args, where=where, role=role, complete=complete))


def check_launch(
    engine: Engine, args: Mapping[str, Any], env: Mapping[str, str], where: str, role: str
) -> list[Finding]:
    """Everything that is known to be wrong with a whole service: flags, variables, a server's values taken together."""
    problems = check(engine, args, where=where, role=role, complete=True)
    if role != "router":
        problems += check_values(args, env, where=where, role=role)
    problems += check_env(engine, env, where=where, role=role)
    return _findings(problems)


def _removes(value: Plain) -> bool:
    return value is None or value is False or value == []


def override_args(
    args: Mapping[str, Plain],
    user: Mapping[str, Plain],
    engine: Engine,
    role: str,
    reasons: Reasons,
    derived: Mapping[str, str] | None = None,
) -> tuple[dict[str, Plain], list[Finding]]:
    """The arguments with a user's in their place, and what is wrong with those; the reasons are noted.

    derived: flags that the compiler derives -> what to do instead of setting them.
    """
    derived = _DERIVED_FLAGS if derived is None else derived
    result = dict(args)
    findings: list[Finding] = []
    where = f"sglang_{role}_args"
    checked: dict[str, Plain] = {}
    # Sorted, because the order in which somebody writes a mapping means nothing: equal settings give equal plans.
    for given in sorted(user):
        name, value = _canonical(engine, given, user[given])
        flag = engine.flag(name)
        if name in _SECRET_FLAGS:
            do = "Leave it out; the one secret that the collection can pass is sglang_api_key"
            findings.append(error("secret", f"{where}.{given}", "a secret would stand on the command line", do))
        elif name in derived and not (name == "api-key" and _removes(value)):
            what = "the compiler derives this flag"
            findings.append(error("derived", f"{where}.{given}", what, derived[name]))
        elif _has_nul(value):
            what = "a NUL character cannot stand on a command line"
            findings.append(error("value", f"{where}.{given}", what, "Take it out"))
        elif (spelling := misspelled(value)) is not None:
            findings.append(_misspelled(f"{where}.{given}", *spelling))
        elif flag is not None and value is False and flag.optional:
            checked[given], result[name] = user[given], value
            reasons.note_flag(name, "override")
            reasons.note_flag(f"no-{name}", "override")
        elif flag is not None and _removes(value):
            result.pop(name, None)
            reasons.note_flag(name, "override")
        else:
            # A name that the version does not know is reported whatever its value.
            checked[given] = True if _removes(value) else user[given]
            # The profile's own value stays as the page spells it (a JSON flag's keys in its order).
            if name not in result or result[name] != value:
                result[name] = value
            reasons.note_flag(name, "override")
    return result, findings + check_args(engine, checked, where, role, complete=False)


def _full_name(engine: Engine, given: str) -> str:
    """The one name of a flag that has several; an unknown name, and a `no-` form, is its own."""
    flag = engine.flag(given)
    return given if flag is None or given in flag.off_names else flag.name


def _in_full(args: Mapping[str, Any], engine: Engine, reasons: Reasons) -> dict[str, Plain]:
    """Profiles of one's own may use another name of a flag (--model); the passes know its one full name."""
    result: dict[str, Plain] = {}
    for given, value in args.items():
        name = _full_name(engine, given)
        if name != given and name not in args:
            reasons.note_flag(given, "flag-in-full")
            reasons.note_flag(name, "flag-in-full")
            result[name] = value
        else:
            result[given] = value
    return result


def _canonical(engine: Engine, given: str, value: Plain) -> tuple[str, Plain]:
    """A user's flag by its one name, and its value in its one form: there is one plan for one meaning."""
    flag = engine.flag(given)
    if flag is not None and given in flag.off_names and value is True:
        return flag.name, False
    if flag is not None and isinstance(value, list) and len(value) == 1 and flag.nargs is None and not flag.json:
        value = value[0]
    return _full_name(engine, given), _sorted_keys(value)


def _misspelled(where: str, given: str, right: str) -> Finding:
    what = f"{given} is a placeholder that nobody replaced"
    return error("placeholder", where, what, f"Give the value itself, or write {right} for what the plan derives")


def _has_nul(value: Plain) -> bool:
    items = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return any(map(_has_nul, items)) or (isinstance(value, str) and "\0" in value)


def _sorted_keys(value: Plain) -> Plain:
    if isinstance(value, dict):
        return {key: _sorted_keys(value[key]) for key in sorted(value)}
    return [_sorted_keys(item) for item in value] if isinstance(value, list) else value


def _override_env(
    env: Mapping[str, str], user: Mapping[str, Plain], role: str, reasons: Reasons
) -> tuple[dict[str, str], list[Finding]]:
    result = dict(env)
    findings: list[Finding] = []
    for name in sorted(user):
        value, where = user[name], f"sglang_{role}_env.{name}"
        if not _VARIABLE.match(name):
            findings.append(error("variable-name", where, f"{name!r} is no name of a variable", "Correct the name"))
        elif name in _DERIVED_VARIABLES:
            findings.append(error("derived", where, "the compiler derives this variable", _DERIVED_VARIABLES[name]))
        elif name in kept_out.OF_ENGINES and value is not None:
            what = "this variable is kept out of every service"
            findings.append(error("kept-out", where, what, "Leave it out: it would redirect the service's traffic"))
        elif name in _PORTS and value is not None and not (str(value).isdecimal() and int(str(value)) > 0):
            what = f"a port number is needed, not {describe(value)}"
            findings.append(error("variable-value", where, what, "Give a number, or leave it out: it is derived"))
        elif isinstance(value, (dict, list)) or (isinstance(value, str) and "\0" in value):
            what = f"a text or number is needed, not {describe(value)}"
            findings.append(error("variable-value", where, what, BY_NAME[f"sglang_{role}_env"].meaning))
        elif (spelling := misspelled(value)) is not None:
            findings.append(_misspelled(where, *spelling))
        else:
            reasons.note("env", name, "override")
            if value is None:
                result.pop(name, None)
            else:
                result[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return result, findings
