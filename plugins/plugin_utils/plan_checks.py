# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a plan: of the settings that it needs, and of whom its entrances can be reached by.

What hosts lack is the preflight's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ansible_collections.ascend.sglang.plugins.plugin_utils import addresses
from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import ClusterSettings
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error, warning
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Profile
from ansible_collections.ascend.sglang.plugins.plugin_utils.role_launch import RoleLaunch
from ansible_collections.ascend.sglang.plugins.plugin_utils.seats import transfer_backend
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
    elif "<" in value or not value.startswith("/") or not value.isprintable() or value != value.strip():
        yield error("model-path", name, f"{value!r} is no absolute path on the hosts", example)


def transfer_backends(launches: Mapping[str, RoleLaunch]) -> Iterator[Finding]:
    """An error where prefill and decode would wait for one another in two languages."""
    used = {role: transfer_backend(launches[role]) for role in ("prefill", "decode") if role in launches}
    if len(set(used.values())) > 1:
        what = " and ".join(f"{role} has {backend or 'the one of the engine'}" for role, backend in used.items())
        do = "Set disaggregation-transfer-backend in both to the same, or in neither"
        yield error("transfer-backend", "sglang_prefill_args and sglang_decode_args", what, do)


def entrances(services: Sequence[Service]) -> Iterator[Finding]:
    """A warning for each mixed entrance that only its own host reaches; the router says so itself."""
    for one in services:
        host = one.url.rpartition(":")[0].rpartition("/")[2].strip("[]")
        if one.role == "mixed" and addresses.is_loopback(host):
            what = f"it listens on {host}: it is reachable only from {one.host}"
            do = "Set sglang_mixed_args.host to the host's data address for clients on other hosts"
            yield warning("local-entrance", f"{one.unit} on {one.host}", what, do)
