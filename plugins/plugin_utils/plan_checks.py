# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a plan: of the settings that it needs, and of what the hosts said about themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ansible_collections.ascend.sglang.plugins.plugin_utils import addresses
from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import ClusterSettings
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error, warning
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_facts import HostFacts
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Profile
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import BY_NAME

_DRAFT_FLAG = "speculative-draft-model-path"


def settings(profile: Profile, given: ClusterSettings) -> Iterator[Finding]:
    """The paths that the profile cannot do without."""
    yield from _path("sglang_model_path", given, f"Profile {profile.name} needs the directory of the weights")
    if any(_DRAFT_FLAG in body.args for body in profile.roles.values()):
        needs = f"Profile {profile.name} decodes with a draft model and needs the directory of its weights"
        yield from _path("sglang_draft_model_path", given, needs)


def _path(name: str, given: ClusterSettings, needs: str) -> Iterator[Finding]:
    value = given.text(name)
    example = f"{needs}: set it, for example to {BY_NAME[name].example}"
    if not value:
        yield error("model-path", name, "is not set", example)
    elif "<" in value or not value.startswith("/"):
        yield error("model-path", name, f"{value!r} is no absolute path on the hosts", example)


def entrances(services: Sequence[Service]) -> Iterator[Finding]:
    """A warning for each mixed entrance that only its own host reaches; the router says so itself."""
    for one in services:
        host = one.url.rpartition(":")[0].rpartition("/")[2].strip("[]")
        if one.role == "mixed" and addresses.is_loopback(host):
            what = f"it listens on {host}: it is reachable only from {one.host}"
            do = "Set sglang_mixed_args.host to the host's data address for clients on other hosts"
            yield warning("local-entrance", f"{one.unit} on {one.host}", what, do)


def hosts(
    facts: Mapping[str, HostFacts], services: Sequence[Service], given: ClusterSettings, engine: str, router: str
) -> Iterator[Finding]:
    """What each host lacks for its services. Silent about hosts that have not been asked.

    engine, router: the versions that the plan is spelled for.
    """
    for name in dict.fromkeys(one.host for one in services):
        if name in facts:
            own = [one for one in services if one.host == name]
            yield from _host(name, facts[name], own, given)
            if facts[name].python is not None:
                yield from _versions(name, facts[name], own, engine, router)


def _host(name: str, facts: HostFacts, own: Sequence[Service], given: ClusterSettings) -> Iterator[Finding]:
    where = f"host {name}"
    if facts.python is None:
        what = f"there is no Python interpreter {given.text('sglang_python')}"
        yield error("python", where, what, "Install it, or set sglang_python to the one that has SGLang")
    needed = {str(word) for one in own for word in one.argv}
    for path, exists in facts.paths.items():
        if not exists and path in needed:
            what = f"there is no directory {path}"
            yield error("model-path", where, what, "Copy or mount the weights there, or correct sglang_model_path")
    if any(one.source for one in own):
        yield from (replace(problem, where=f"{where}, {problem.where}") for problem in facts.problems)


def _versions(name: str, facts: HostFacts, own: Sequence[Service], engine: str, router: str) -> Iterator[Finding]:
    if any(one.npus for one in own):
        yield from _version(name, facts, "sglang", engine, "Install that version, or set sglang_engine to the host's")
    if any(one.role == "router" for one in own):
        yield from _version(name, facts, "sglang-router", router, "Install that version")


def _version(name: str, facts: HostFacts, package: str, planned: str, do: str) -> Iterator[Finding]:
    where = f"host {name}"
    installed = facts.versions.get(package)
    if installed is None:
        what = f"{facts.python} has no package {package}"
        yield error(
            "version", where, what, f"Install {package} {planned} for it, or set sglang_python to the one that has it"
        )
    # A local build label (0.5.13.post1+npu) does not change the command grammar.
    elif installed.partition("+")[0] != planned:
        what = f"{package} is {installed} there, and the plan is spelled for {planned}"
        # The router's grammar is one for all; servers' flags differ from version to version.
        yield error("version", where, what, do) if package == "sglang" else warning("version", where, what, do)
