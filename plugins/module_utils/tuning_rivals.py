# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who else sets the same things on this host, and would win over the role's own files.

Pure: what was read from the host comes in as texts, what comes out are sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ansible_collections.ascend.sglang.plugins.module_utils import tuning_ports, tuning_sysctl

GOVERNOR = "governor"
TRANSPARENT_HUGEPAGE = "transparent_hugepage"
RESERVED_PORTS = "net.ipv4.ip_local_reserved_ports"

# Where tuned looks for a profile's directory, best first: since 2.24 in "profiles", before that one up.
TUNED_DIRECTORIES = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")

# tuned's own words for what the role sets: (section, option) -> setting.
_TUNED_OPTIONS = {
    ("cpu", "governor"): GOVERNOR,
    ("vm", "transparent_hugepages"): TRANSPARENT_HUGEPAGE,
    ("vm", "transparent_hugepage"): TRANSPARENT_HUGEPAGE,
    ("scheduler", "sched_migration_cost_ns"): "kernel.sched_migration_cost_ns",
}

# Services that set the governor -> their configuration files, for what they set it to.
POWER_SERVICES: dict[str, tuple[str, ...]] = {
    "power-profiles-daemon.service": (),
    "auto-cpufreq.service": ("/etc/auto-cpufreq.conf",),
    "tlp.service": ("/etc/tlp.conf",),
    "cpupower.service": ("/etc/sysconfig/cpupower", "/etc/default/cpupower", "/etc/cpupower-service.conf"),
    "cpufrequtils.service": ("/etc/default/cpufrequtils",),
    "cpufreqd.service": (),
    "loadcpufreq.service": (),
    "ondemand.service": (),
    "laptop-mode.service": (),
    "system76-power.service": (),
    "atuned.service": (),
    "pwrapis.service": (),
}
_GOVERNOR_SETTING = re.compile(
    r"""^\s*(?:export\s+)?(?:
        (?:CPU_SCALING_)?GOVERNOR(?:_ON_AC)?\s*=\s*["']?(?P<value>\w+)
        | governor\s*=\s*(?P<ini>\w+)
        | [A-Z_]*OPTS\s*=.*(?<![\w-])(?:-g\s*|--governor[=\s])(?P<option>\w+)
    )""",
    re.VERBOSE | re.MULTILINE,
)


class Rival(NamedTuple):
    """Something that sets ``setting`` to ``value`` (None: nobody can say to what) after the role's own files."""

    setting: str
    who: str
    value: str | None
    advice: str

    def __str__(self) -> str:
        value = "" if self.value is None else f" to {self.value}"
        return f"{self.who} sets {self.setting}{value} and wins over this role. {self.advice}"


def same(setting: str, one: str, other: str) -> bool:
    """Whether two texts mean one value of a setting."""
    if setting == RESERVED_PORTS:
        try:
            return tuning_ports.parse(one) == tuning_ports.parse(other)
        except ValueError:
            return False
    return tuning_sysctl.normal(one) == tuning_sysctl.normal(other)


def in_sysctl_files(wanted: Mapping[str, str], own_file: str, files: Iterable[tuple[str, str]]) -> list[Rival]:
    """Files that are read after the role's own and say something else.

    :param wanted: setting -> value, of what the role's own file holds.
    :param files: (path, text), in the order in which they are read at boot, without the role's own.
    """
    rivals = []
    own_name = own_file.rsplit("/", 1)[-1]
    later = [(path, text) for path, text in files if path.rsplit("/", 1)[-1] > own_name]
    for name, line in tuning_sysctl.winners(later).items():
        if name in wanted and not same(name, wanted[name], line.value):
            advice = f"Remove that line: at boot {line.file} is read after {own_file}."
            rivals.append(Rival(name, line.file, line.value, advice))
    return rivals


def in_sysctl_conf(wanted: Mapping[str, str], text: str) -> list[Rival]:
    """/etc/sysctl.conf is not read at boot under that name, but ``sysctl --system`` and ``sysctl -p`` read it last."""
    advice = (
        "At boot this role's file holds, but 'sysctl --system' and 'sysctl -p' read that file last: remove the line."
    )
    return [
        Rival(name, "/etc/sysctl.conf", line.value, advice)
        for name, line in tuning_sysctl.winners([("/etc/sysctl.conf", text)]).items()
        if name in wanted and not same(name, wanted[name], line.value)
    ]


def in_boot_script(wanted: Mapping[str, str], path: str, text: str) -> list[Rival]:
    """Lines of rc.local and its like that mention a setting; what they do to it nobody can read out of a shell text."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    rivals = []
    for name in wanted:
        words = {GOVERNOR: ["scaling_governor", "cpupower ", "cpufreq-set"], TRANSPARENT_HUGEPAGE: [name + "/enabled"]}
        for line in lines:
            if any(word in line for word in words.get(name, [name, name.replace(".", "/")])):
                rivals.append(Rival(name, path, None, f"Check this line of it, which runs at boot: {line.strip()}"))
                break
    return rivals


class _Option(NamedTuple):
    """One option of a tuned.conf: ``kind`` is the plugin of its section, which is usually called like it."""

    section: str
    kind: str
    name: str
    value: str


def _tuned_options(text: str) -> list[_Option]:
    """The options of the sections that are switched on, variables filled in; whatever else it holds is passed over."""
    found: list[_Option] = []
    section = ""
    for raw in text.splitlines():
        line = re.sub(r"\s[#;].*$", "", raw.strip())
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
            continue
        option, equals, value = line.partition("=")
        if equals and not line.startswith(("#", ";")):
            found.append(_Option(section, section, option.strip(), value.strip()))
    own = {one.name: one.value for one in found if one.section == "variables"}
    kinds = {one.section: one.value for one in found if one.name == "type"}
    off = {one.section for one in found if one.name == "enabled" and one.value.lower() in ("0", "false", "no", "off")}

    def filled(value: str) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda hit: own.get(hit.group(1), hit.group()), value)

    return [
        one._replace(kind=kinds.get(one.section, one.section), value=filled(one.value))
        for one in found
        if one.section not in off
    ]


def _tuned_setting(option: _Option) -> str | None:
    """The setting that an option is about, where it is one of those that may be ours."""
    if option.name in ("type", "enabled", "replace", "priority"):
        return None
    if option.kind == "sysctl":
        return tuning_sysctl.canonical(option.name)
    if option.kind == "sysfs":
        return _of_path(option.name)
    return _TUNED_OPTIONS.get((option.kind, option.name))


def _of_path(path: str) -> str | None:
    """The setting whose value a file of the kernel, or a pattern of such files, is."""
    if path.endswith("/scaling_governor"):
        return GOVERNOR
    if path.endswith("/transparent_hugepage/enabled"):
        return TRANSPARENT_HUGEPAGE
    if path.startswith("/proc/sys/"):
        return tuning_sysctl.canonical(path[len("/proc/sys/") :])
    moved = {f"/sys/kernel/debug/{file}": name for name, file in tuning_sysctl.MOVED_TO_DEBUGFS.items()}
    return moved.get(path)


def tuned_settings(
    profiles: Iterable[str], read: Callable[[str], str | None], seen: tuple[str, ...] = ()
) -> dict[str, tuple[str, str]]:
    """What tuned's profiles set, the included ones first: setting -> (value, the file that says so).

    :param profiles: their names, as /etc/tuned/active_profile has them; the last one wins.
    :param read: the text of a file, None where there is none.
    """
    settings: dict[str, tuple[str, str]] = {}
    for profile in profiles:
        paths = [f"{directory}/{profile}/tuned.conf" for directory in TUNED_DIRECTORIES]
        path, text = next(((path, text) for path in paths for text in [read(path)] if text is not None), ("", ""))
        if not text or profile in seen:
            continue
        options = _tuned_options(text)
        for option in options:
            if (option.section, option.name) == ("main", "include"):
                included = [word for word in re.split(r"[\s,;]+", option.value) if word]
                settings.update(tuned_settings(included, read, (*seen, profile)))
        for option in options:
            setting = _tuned_setting(option)
            if setting is not None:
                settings[setting] = option.value, path
    return settings


def in_tuned(wanted: Mapping[str, str], active: str, read: Callable[[str], str | None]) -> list[Rival]:
    """What the active tuned profile sets to something else.

    :param active: the content of /etc/tuned/active_profile.
    """
    rivals = []
    for name, (value, path) in tuned_settings(active.split(), read).items():
        # A profile may name several governors; tuned takes the first one that the CPU offers.
        if name in wanted and not same(name, wanted[name], value.split("|")[0]):
            who = f"tuned, whose active profile is {' '.join(active.split())} ({path}),"
            advice = "Change that profile, or choose another with tuned-adm; tuned applies it whenever it starts."
            rivals.append(Rival(name, who, value, advice))
    return rivals


def in_tmpfiles(wanted: Mapping[str, str], files: Iterable[tuple[str, str]]) -> list[Rival]:
    """Lines of tmpfiles.d that write a sysctl: they are carried out after those of sysctl.d.

    What the role's boot script sets comes later still.

    :param wanted: setting -> value, of what the role's sysctl.d file holds.
    :param files: (path, text), in the order in which they are read.
    """
    found: dict[str, Rival] = {}
    for path, text in files:
        for line in text.splitlines():
            fields = line.split(None, 6)
            if len(fields) < 7 or not re.fullmatch(r"[wf][+!=~^$-]*", fields[0]):
                continue
            name, value = _of_path(fields[1]), tuning_sysctl.normal(fields[6])
            if name in wanted:
                advice = "Remove that line: systemd-tmpfiles writes it at boot, after sysctl.d."
                found[name] = Rival(name, path, value, advice)
    return [rival for name, rival in found.items() if not same(name, wanted[name], rival.value or "")]


def in_power_services(wanted: Mapping[str, str], services: Mapping[str, str]) -> list[Rival]:
    """Services that set the governor by themselves.

    :param services: those that are enabled or run -> the text of their configuration.
    """
    if GOVERNOR not in wanted:
        return []
    rivals = []
    for service, text in sorted(services.items()):
        matches = [group for found in _GOVERNOR_SETTING.finditer(text) for group in found.groups() if group]
        value = matches[-1] if matches else None
        if value != wanted[GOVERNOR]:
            advice = f"Disable it (systemctl disable --now {service}), or have it set {wanted[GOVERNOR]} too."
            rivals.append(Rival(GOVERNOR, service, value, advice))
    return rivals
