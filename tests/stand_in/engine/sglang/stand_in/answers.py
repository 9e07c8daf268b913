# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens and answers: words chosen by the prompt alone, the same from a mixed server and from prefill with decode."""

from __future__ import annotations

import hashlib
import re
import zlib

EOS = 1
WORDS = """
the of and to in is that it for was on are as with they at be this from have or by one had not but what all were
when we there can an your which their said if do will each about how up out them then she many some so these would
other into has more her two like him see time could no make than first been its who now people my made over did
down only way find use may water long little very after words called just where most know get through back much
before go good new write our me man too any day same right look think also around another came come work three
word must because does part even place well such here take why help put years different away again off went old
number great tell men say small every found still between name should home big give air line set own under read
last never us left end along while might next sound below saw something thought both few those always looked show
large often together asked house world going want school important until form food keep children feet land side
without boy once animals life enough took sometimes four head above kind began almost live page got earth need far
hand high year mother light parts country father let night
"""
VOCABULARY = WORDS.split()
# Room for the answer's own ids above those that stand for something else.
FIRST_WORD = 16


def token_ids(text):
    """A prompt's tokens."""
    return [zlib.crc32(word.encode("utf-8", "replace")) % 100000 for word in re.findall(r" ?\w+|[^\w\s]|\s+", text)]


def chat_ids(messages):
    """The tokens of a conversation, the template's own included."""
    ids = []
    for message in messages:
        ids += [*token_ids(str(message.get("role", ""))), 2, 3, 4, 5, *token_ids(_content(message.get("content")))]
    return [*ids, 6, 7, 8, 9, 10]


def _content(content):
    if isinstance(content, list):
        return "".join(part.get("text", "") if isinstance(part, dict) else str(part) for part in content)
    return "" if content is None else str(content)


def answer_ids(secret, limit, ignore_eos=False):
    """The tokens of the answer in a prompt's secret, at most `limit`; the last is EOS where it ends by itself."""
    own_length = 16 + int(secret[:4], 16) % 48
    for position in range(limit):
        if position == own_length and not ignore_eos:
            yield EOS
            return
        digest = hashlib.sha256(f"{secret} {position}".encode()).digest()
        yield FIRST_WORD + int.from_bytes(digest[:2], "big") % len(VOCABULARY)


def text_of(ids):
    """The text of an answer's tokens."""
    return "".join(" " + VOCABULARY[number - FIRST_WORD] for number in ids if number >= FIRST_WORD)
