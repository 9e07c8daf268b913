# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every setting of the collection, once: its name, type, default and meaning.

The annotated example `group_vars/all.example.yml`, the documentation and the compiler are all made from this list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error, nearest, warning
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Kind, Plain, ValueTypeError, coerce, describe

ENGINE_ROLES = ("prefill", "decode", "mixed")
ROLES = (*ENGINE_ROLES, "router")


@dataclass(frozen=True)
class Setting:
    """scope: `cluster` settings have one value for the whole cluster, `role` settings one for the hosts of `role`,
    `host` settings one per host. A secret's value never enters the compiler: only whether it is set."""

    name: str
    kind: Kind
    default: Plain
    meaning: str
    scope: Literal["cluster", "role", "host"] = "cluster"
    role: str | None = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    secret: bool = False
    example: str = ""


def _role_settings(role: str) -> tuple[Setting, ...]:
    return (
        Setting(
            f"sglang_{role}_args",
            "dict",
            {},
            f"Flags of every {role} service that differ from the profile's: full flag names without dashes, to a "
            "number or text, a list (several values), true (a bare flag), a mapping (a JSON flag), or false, null or "
            "[] (leave the profile's flag out).",
            scope="role",
            role=role,
        ),
        Setting(
            f"sglang_{role}_env",
            "dict",
            {},
            f"Environment variables of every {role} service that differ from the profile's; null leaves one out.",
            scope="role",
            role=role,
        ),
    )


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "sglang_profile",
        "str",
        "",
        "What to run: the name of a profile (one documented recipe) or of a family of profiles. On the command line "
        "also `-e profile=NAME`.",
        example="deepseek-r1-w8a8-2p1d",
    ),
    Setting(
        "sglang_profile_dirs",
        "list",
        [],
        "Directories with profiles of your own, looked into before the collection's.",
    ),
    Setting(
        "sglang_engine",
        "str",
        "",
        "The SGLang version that the hosts run, whose flags are spelled. Empty: the one that the profile was written "
        "for.",
        example="0.5.13.post1",
    ),
    Setting(
        "sglang_engine_dirs",
        "list",
        [],
        "Directories with engine files of your own, for SGLang versions that the collection does not know; "
        "tools/dump_engine.py prints such a file.",
    ),
    Setting(
        "sglang_groups",
        "dict",
        {},
        "The inventory's own group names by role, where they are not prefill, decode, mixed and router.",
        example="{prefill: p_nodes, decode: d_nodes}",
    ),
    Setting(
        "sglang_instances",
        "dict",
        {},
        "How many instances of a role to run, by role, where it is not the profile's number. The number of nodes in "
        "an instance stays the profile's.",
        example="{prefill: 3}",
    ),
    Setting(
        "sglang_model_path",
        "str",
        "",
        "Directory of the model's weights, the same on every host of the cluster. Required.",
        example="/models/DeepSeek-R1-W8A8",
    ),
    Setting(
        "sglang_draft_model_path",
        "str",
        "",
        "Directory of the draft model's weights. Required where the profile names a draft model, of no effect "
        "elsewhere.",
        example="/models/Kimi-K2.6-Eagle3",
    ),
    Setting(
        "sglang_python",
        "str",
        "python3",
        "The Python interpreter, on the hosts, that has SGLang and the router: a name found in PATH or an absolute "
        "path.",
    ),
    *(setting for role in ROLES for setting in _role_settings(role)),
    Setting(
        "sglang_store",
        "str",
        "prefill",
        "Who serves the store where prefill and decode meet: the first prefill instance (`prefill`), or a service of "
        "its own on the router's host (`dedicated`).",
        choices=("prefill", "dedicated"),
    ),
    Setting(
        "sglang_plan_dir",
        "str",
        "",
        "Directory on the controller into which the plan is written (plan.json, plan.md and plan.html). Empty: not "
        "written.",
        example="./plan",
    ),
    Setting(
        "sglang_preflight_skip",
        "list",
        [],
        "Checks of the preflight that are left out, by name (`preflight.yml` lists them). What leaves no plan at all "
        "cannot be left out.",
        example="[clock, disk]",
    ),
    Setting(
        "sglang_preflight_parser_seconds",
        "int",
        60,
        "Seconds that the installed SGLang may take to be imported when its own parser is asked about the planned "
        "command lines, once for each plan. 0: it is not asked; the file in engines/ says what it takes.",
        minimum=0,
    ),
    Setting(
        "sglang_ready_timeout",
        "int",
        3600,
        "Seconds that the services may take to load the model and answer. SGLang's own tests wait as long.",
        minimum=1,
    ),
    Setting(
        "sglang_stop_timeout",
        "int",
        120,
        "Seconds that a service may take to finish its requests when it is stopped; then all its processes are killed.",
        minimum=1,
    ),
    Setting(
        "sglang_guard",
        "bool",
        True,
        "Whether instances of several nodes and PD groups heal by themselves: a guard beside each of their services "
        "restarts it when rank 0 of its instance, or the holder of the store, is a new process or gone.",
    ),
    Setting(
        "sglang_guard_port",
        "int",
        29100,
        "Port of the guards on the data addresses; the next free one where a host has several. Outside of 15000 to "
        "25000, from which the NPUs' transfers take ports, and of the kernel's own range.",
        minimum=1,
        maximum=65535,
    ),
    Setting(
        "sglang_guard_gone_seconds",
        "int",
        60,
        "Seconds that a rank of an instance may be out of sight of the others' guards before they restart to wait for "
        "it. Longer than a link or a switch takes to come back, shorter than a server takes to boot; what TCP survives "
        "needs no restart.",
        minimum=5,
    ),
    Setting(
        "sglang_user",
        "str",
        "root",
        "The account that runs prefill, decode and mixed services. It must be able to read the weights and to open "
        "the NPU devices (group HwHiAiUser).",
    ),
    Setting(
        "sglang_cxx_abi",
        "str",
        "",
        "Pins the C++ ABI that ATB's set_env.sh is told by every service. Empty: that of sglang_python's torch.",
        choices=("0", "1"),
        example="1",
    ),
    Setting(
        "sglang_host_tuning",
        "bool",
        True,
        "Whether deploy applies the profile's host tuning (cpufreq governor and kernel parameters).",
    ),
    Setting(
        "sglang_api_key",
        "str",
        "",
        "A key that clients must send; router and servers share it. A secret: keep it in Ansible Vault. It stands in "
        "no plan, log or command line.",
        secret=True,
    ),
    Setting(
        "sglang_benchmark_args",
        "dict",
        {},
        "Flags of the benchmark (sglang.bench_serving) that differ from the profile's, written as those of the "
        "services. Entrance, API key and output are derived.",
        example="{num-prompts: 64, max-concurrency: 16}",
    ),
    Setting(
        "sglang_benchmark_host",
        "str",
        "",
        "The host of the inventory that runs the benchmark. Empty: the entrance's own. Another one needs an entrance "
        "that listens on the data address, and SGLang with the model's tokenizer.",
    ),
    Setting(
        "sglang_benchmark_dataset",
        "str",
        "",
        "A file on that host with conversations in ShareGPT's format, from which the dataset `random` takes its texts. "
        "Empty: bench_serving gets ShareGPT from its hub, which needs the internet.",
        example="/data/ShareGPT_V3_unfiltered_cleaned_split.json",
    ),
    Setting(
        "sglang_benchmark_details",
        "bool",
        True,
        "Whether the benchmark stores each request's times too, from which the distributions are drawn. Changes "
        "nothing of what is sent.",
    ),
    Setting(
        "sglang_benchmark_dir",
        "str",
        "benchmarks",
        "Directory on the controller that keeps the results, by profile and plan.",
    ),
    Setting(
        "sglang_benchmark_timeout",
        "int",
        7200,
        "Seconds after which a benchmark that has not finished is ended. The longest of the documented ones take "
        "about ten minutes at their published figure.",
        minimum=1,
    ),
    Setting(
        "sglang_benchmark_tolerance",
        "int",
        10,
        "Percent by which a measured figure may be worse than the published one and still pass.",
        minimum=0,
    ),
    Setting(
        "sglang_benchmark_failed",
        "int",
        0,
        "How many requests of a benchmark may fail in one that passes.",
        minimum=0,
    ),
    Setting(
        "sglang_data_address",
        "str",
        "",
        "Address of the host that everything else uses: IPv4, IPv6 or a name. Empty: ansible_host, where that is an "
        "address.",
        scope="host",
        example="192.0.2.11",
    ),
    Setting(
        "sglang_interface",
        "str",
        "",
        "Interface that owns the data address. Empty: looked up on the host.",
        scope="host",
        example="bond0",
    ),
    Setting(
        "sglang_npus",
        "int",
        16,
        "Number of NPUs of the host. An Atlas 800I A3 has 8 cards with two NPUs each.",
        scope="host",
        minimum=1,
    ),
    Setting(
        "sglang_bootstrap_port",
        "int",
        None,
        "Bootstrap port of the prefill instance whose rank 0 is on this host. Empty: the profile's port plus the "
        "instance's number.",
        scope="host",
        minimum=1,
        maximum=65535,
    ),
    Setting(
        "sglang_instance",
        "int",
        None,
        "Puts the host into this instance of its role, counted from 0. Empty: by the order of the inventory.",
        scope="host",
        minimum=0,
    ),
    Setting(
        "sglang_node_rank",
        "int",
        None,
        "Gives the host this rank in its instance, counted from 0. Empty: by the order of the inventory.",
        scope="host",
        minimum=0,
    ),
)

BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}
CLUSTER_SETTINGS = tuple(setting for setting in SETTINGS if setting.scope != "host")
HOST_SETTINGS = tuple(setting for setting in SETTINGS if setting.scope == "host")


def read(values: Mapping[str, Plain], wanted: Iterable[Setting], where: str) -> tuple[dict[str, Plain], list[Finding]]:
    """The wanted settings out of raw variables, typed and with defaults; what does not fit is a finding."""
    result: dict[str, Plain] = {}
    findings: list[Finding] = []
    for setting in wanted:
        value = values.get(setting.name)
        # An empty value reads as "not set": people leave `sglang_interface:` behind.
        if value is None or value == "":
            result[setting.name] = setting.default
            continue
        try:
            result[setting.name] = _checked(setting, coerce(value, setting.kind))
        except ValueTypeError as problem:
            findings.append(error("setting-type", f"{where}, {setting.name}", str(problem), setting.meaning))
            result[setting.name] = setting.default
    return result, findings


def _checked(setting: Setting, value: Plain) -> Plain:
    if isinstance(value, list) and (other := next((item for item in value if not isinstance(item, str)), "")) != "":
        raise ValueTypeError(f"a list of texts is needed, and it holds {describe(other)}")
    if setting.choices and value not in setting.choices:
        raise ValueTypeError(f"{value!r} is none of {', '.join(setting.choices)}")
    if setting.minimum is not None and isinstance(value, int) and value < setting.minimum:
        raise ValueTypeError(f"{value} is less than {setting.minimum}")
    if setting.maximum is not None and isinstance(value, int) and value > setting.maximum:
        raise ValueTypeError(f"{value} is more than {setting.maximum}")
    return value


def unknown(names: Iterable[str], where: str) -> list[Finding]:
    """A warning for each variable that looks like a setting and is none."""
    return [
        warning("setting-unknown", where, f"{name} is no setting of this collection", nearest(name, BY_NAME))
        for name in sorted(set(names))
        if name.startswith("sglang_") and name not in BY_NAME
    ]
