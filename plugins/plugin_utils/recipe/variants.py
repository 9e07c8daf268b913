# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several recipes under one title: a page that shows the same deployment for two kinds of hardware, say.

A title is one recipe as long as its blocks can be one: prefill, decode and router, or the nodes of one mixed instance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import syntax as sh
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.blocks import Block
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.titles import is_section


@dataclass
class _Group:
    """The blocks of one recipe so far. own: whether it has a preparation of its own in front of its servers."""

    blocks: list[Block] = field(default_factory=list)
    servers: list[Block] = field(default_factory=list)

    @property
    def modes(self) -> frozenset[str]:
        return frozenset(mode for block in self.servers for mode in block.modes)

    @property
    def own(self) -> bool:
        before = self.blocks[: self.blocks.index(self.servers[0])]
        return any(block.kind == "preparation" for block in before)

    def takes(self, block: Block) -> bool:
        """Whether a further block of servers can belong to the recipe."""
        if "mixed" in self.modes | block.modes:
            # The nodes of one instance, each with a block of its own.
            both = [*self.servers, block]
            sizes, ranks = ({_word(each, flag) for each in both} for flag in ("--nnodes", "--node-rank"))
            return self.modes == block.modes and sizes.isdisjoint({None, "1"}) and len(ranks) == len(both)
        # Prefill after decode begins the next recipe.
        return not ("prefill" in block.modes and "decode" in self.modes)


def variants(title: str, blocks: Sequence[Block]) -> list[tuple[str, tuple[Block, ...]]]:
    """The recipes under a title, each with a title of its own; most often the title with all of its blocks."""
    groups: list[_Group] = []
    pending: list[Block] = []
    for block in blocks:
        if block.kind == "server" and (not groups or not groups[-1].takes(block)):
            groups.append(_Group())
        if not groups or (block.kind == "preparation"):
            pending.append(block)
            continue
        groups[-1].blocks += [*pending, block]
        pending = []
        if block.kind == "server":
            groups[-1].servers.append(block)
    if len(groups) < 2:
        return [(title, tuple(blocks))]
    groups[-1].blocks += pending
    _share(groups)
    return list(_titled(title, groups))


def _share(groups: Sequence[_Group]) -> None:
    """What stands before all servers prepares every recipe that has no preparation of its own."""
    first = groups[0]
    shared = [block for block in first.blocks[: first.blocks.index(first.servers[0])] if block.kind == "preparation"]
    for group in groups[1:]:
        if not group.own:
            group.blocks[:0] = shared


def _titled(title: str, groups: Sequence[_Group]) -> Iterator[tuple[str, tuple[Block, ...]]]:
    labels = [group.servers[0].code.label for group in groups]
    usable = all(label and not is_section(label) for label in labels) and len(set(labels)) == len(labels)
    for number, (group, label) in enumerate(zip(groups, labels, strict=True), 1):
        yield f"{title} {label if usable else number}", tuple(group.blocks)


def _word(block: Block, flag: str) -> str | None:
    """The literal word behind a flag of a block's server."""
    for statement in sh.walk(block.script.statements):
        if isinstance(statement, sh.Command):
            words = [word.literal for word in statement.words]
            if flag in words[:-1]:
                return words[words.index(flag) + 1]
    return None
