# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which profiles exist, and which one a name means. Reads directories; decides nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine import suggest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error, nearest
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Profile, load
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain, plain

ALIASES = "aliases.yml"
SUFFIXES = (".yml", ".yaml")


@dataclass(frozen=True)
class Catalogue:
    """Names of profiles and the files that hold them; family names and the member that each stands for."""

    files: Mapping[str, Path]
    aliases: Mapping[str, str]


@dataclass(frozen=True)
class Choice:
    """The profile that a name means. `siblings`: the other members of its family, where a family was named."""

    profile: Profile
    asked: str
    siblings: tuple[str, ...]

    @property
    def note(self) -> str:
        if self.asked == self.profile.name:
            return f"Profile {self.profile.name}."
        others = f" Others: {', '.join(self.siblings)}." if self.siblings else " It is the only one of its family."
        return f"Profile {self.profile.name}, the one that {self.asked} stands for.{others}"


def catalogue(directories: Sequence[Path]) -> Catalogue:
    """All profiles of the directories; the first directory that has a name wins.

    Raises CompileError for a directory that does not exist or an alias of no profile.
    """
    files: dict[str, Path] = {}
    aliases: dict[str, tuple[str, Path]] = {}
    for directory in directories:
        if not directory.is_dir():
            raise CompileError(
                [
                    error(
                        "profile-directory",
                        f"sglang_profile_dirs, {directory}",
                        "no such directory on the controller",
                        "Give a directory that holds profiles, one YAML file each",
                    )
                ]
            )
        for file in _files(directory):
            files.setdefault(file.stem, file)
        for name, target in _aliases(directory / ALIASES).items():
            aliases.setdefault(name, (target, directory / ALIASES))
    for name, (target, file) in aliases.items():
        if target not in files:
            what = f"{name} stands for {target!r}, and there is no such profile"
            raise CompileError(
                [error("profile-aliases", str(file), what, nearest(target, files) or "Correct the file")]
            )
    return Catalogue(files, {name: target for name, (target, _file) in aliases.items()})


def _files(directory: Path) -> list[Path]:
    """The profiles of a directory. An editor's left-overs (`.x.yml.swp`, `.#x.yml`) are none."""
    try:
        entries = sorted(directory.iterdir())
    except OSError as problem:
        what = f"cannot be read: {problem.strerror}"
        raise CompileError(
            [error("profile-directory", f"sglang_profile_dirs, {directory}", what, "Make it readable for you")]
        ) from problem
    return [one for one in entries if one.suffix in SUFFIXES and one.name != ALIASES and not one.name.startswith(".")]


def choose(known: Catalogue, name: str) -> Choice:
    """The profile that `name` means: its own name, or that of its family. Raises CompileError."""
    if not name:
        raise CompileError(
            [error("profile-name", "sglang_profile", "no profile is named", f"Set it to one of: {_list(known)}")]
        )
    target = name if name in known.files else known.aliases.get(name, "")
    if target not in known.files:
        # Names differ in their ends mostly, so a shared beginning counts before a similar spelling.
        begins = [one for one in (*known.aliases, *known.files) if one.startswith(name)][:3]
        hint = f"did you mean {suggest.either(begins)}?" if begins else nearest(name, [*known.aliases, *known.files])
        do = hint or f"Known are: {_list(known)}"
        raise CompileError([error("profile-name", "sglang_profile", f"there is no profile {name!r}", do)])
    siblings = (
        () if name == target else tuple(one for one in known.files if one != target and one.startswith(f"{name}-"))
    )
    return Choice(_read(known.files[target]), name, siblings)


def _list(known: Catalogue) -> str:
    return ", ".join([*known.aliases, *known.files])


def _aliases(file: Path) -> dict[str, str]:
    if not file.exists():
        return {}
    data = _parse(file)
    if not isinstance(data, dict) or not all(isinstance(target, str) for target in data.values()):
        raise CompileError([error("profile-aliases", str(file), "is no mapping of names to names", "Correct the file")])
    return {name: str(target) for name, target in data.items()}


def _read(file: Path) -> Profile:
    profile = load(_parse(file), str(file))
    if profile.name != file.stem:
        raise CompileError(
            [
                error(
                    "profile",
                    f"profile {file}",
                    f"its name is {profile.name!r}, not the file's",
                    "Give the file and the profile the same name",
                )
            ]
        )
    return profile


class _Loader(yaml.SafeLoader):
    """YAML without the surprise that of two equal keys the first is dropped in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = Counter(key.value for key, _value in node.value if isinstance(key, yaml.ScalarNode))
        for key, _value in node.value:
            if isinstance(key, yaml.ScalarNode) and keys[key.value] > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands twice", key.start_mark)
        return super().construct_mapping(node, deep)


def _parse(file: Path) -> Plain:
    try:
        # _Loader is a SafeLoader.
        return plain(yaml.load(file.read_text(encoding="utf-8"), _Loader))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise CompileError(
            [error("profile", f"profile {file}", f"cannot be read: {problem}", "Correct the file")]
        ) from problem
