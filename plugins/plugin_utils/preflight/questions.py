# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each host of a plan is asked: the option `preflight` of the module ascend.sglang.host_facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.service_python import DYNAMIC_USER
from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import ClusterSettings
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.edges import Edge
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

# Throw-away listeners outlive the connections to them, also where Ansible asks the hosts in several batches.
_SECONDS = 20
_SECONDS_PER_BATCH = 4


def listening_seconds(hosts: int, forks: int) -> int:
    """For how long throw-away listeners stay at the most; `forks`: how many hosts Ansible asks at a time."""
    batches = -(-hosts // max(forks, 1))
    return _SECONDS + _SECONDS_PER_BATCH * (batches - 1)


def questions(
    services: Sequence[Service],
    edges: Sequence[Edge],
    addresses: Mapping[str, str],
    settings: ClusterSettings,
    asked: Collection[str],
    forks: int,
    token: str = "",
) -> dict[str, dict[str, Any]]:
    """By host. addresses: the hosts' data addresses; asked: the hosts that this run reaches (`--limit`); token: what
    tells its visitors from those of another run.
    """
    hosts = [name for name in dict.fromkeys(one.host for one in services) if name in asked]
    seconds = listening_seconds(len(hosts), forks)
    spread = len({one.host for one in services if one.npus is not None}) > 1
    # Nobody opens a port that nobody will try.
    tried = () if "connections" in settings.texts("sglang_preflight_skip") else edges
    wanted: dict[tuple[str, int], dict[str, Any]] = {}
    for edge in (one for one in tried if one.source in asked):
        place = {"address": addresses[edge.target], "port": edge.port, "unit": edge.unit, "lasting": edge.lasting}
        wanted.setdefault((edge.target, edge.port), {**place, "expect": []})["expect"].append(edge.source)
    listeners: dict[str, list[dict[str, Any]]] = {}
    for (target, _port), one in wanted.items():
        listeners.setdefault(target, []).append(one)
    return {
        name: {
            "name": name,
            **_of_host([one for one in services if one.host == name], settings, spread=spread),
            "listen": listeners.get(name, []),
            "seconds": seconds,
            "token": token,
        }
        for name in hosts
    }


def _of_host(own: Sequence[Service], settings: ClusterSettings, *, spread: bool) -> dict[str, Any]:
    engines = [one for one in own if one.npus is not None]
    words = {str(word) for one in own for word in one.argv}
    paths = (settings.text("sglang_model_path"), settings.text("sglang_draft_model_path"))
    numbers = sorted({number for one in engines if one.npus for number in range(one.npus[0], one.npus[1] + 1)})
    return {
        "users": list(dict.fromkeys(user_of(one, settings) for one in own)),
        "weights": [path for path in paths if path in words],
        "npus": bool(engines),
        "links": numbers if spread else [],
        "directories": directories(own),
    }


def directories(services: Iterable[Service]) -> list[str]:
    """Where services of a host write: each one's own directories, any of which may be a mount, and /tmp."""
    layout = Layout()
    own = [(layout.home(one.unit), layout.cache(one.unit), layout.logs(one.unit)) for one in services]
    return [*(path for paths in own for path in paths), "/tmp"]


def user_of(service: Service, settings: ClusterSettings) -> str:
    """Who runs a service; empty for a user that systemd makes up."""
    user = settings.text("sglang_user")
    return DYNAMIC_USER if service.role == "router" and user == "root" else user
