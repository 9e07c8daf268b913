# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked: prompts of the asked lengths. A token is a word, as for the stand-in engine."""

from __future__ import annotations

import base64
import json
import random
import re
from dataclasses import dataclass, field

from sglang.stand_in import answers

# What an image costs in tokens: one for each patch of 28 by 28 pixels.
PATCH = 28
SIZES = {"4k": (3840, 2160), "1080p": (1920, 1080), "720p": (1280, 720), "360p": (640, 360)}


class HubError(Exception):
    """A dataset that only a hub has, asked for where there is none."""


@dataclass
class Prompt:
    """One request."""

    text: str
    prompt_len: int
    output_len: int
    images: list = field(default_factory=list)
    vision_len: int = 0
    routing_key: str | None = None


def lengths(rng, full, ratio, count):
    """Random lengths between a share of `full` and `full`."""
    return [0] * count if full <= 0 else [rng.randint(max(int(full * ratio), 1), full) for _unused in range(count)]


def words(rng, count):
    """A text of so many tokens."""
    return " ".join(rng.choices(answers.VOCABULARY, k=count))


def load(args):
    """The prompts of the dataset that the arguments name."""
    rng = random.Random(args.seed)
    if args.dataset_name == "random-ids":
        return _random(rng, args, None)
    if args.dataset_name == "random":
        return _random(rng, args, _conversations(args.dataset_path))
    if args.dataset_name == "generated-shared-prefix":
        return _shared_prefix(rng, args)
    if args.dataset_name == "image":
        return _images(rng, args)
    raise SystemExit(f"stand-in: the dataset {args.dataset_name} is not among those that it has")


def _conversations(path):
    """The first sides of the conversations of a file, with at least two turns."""
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    except (OSError, ValueError) as error:
        # As the real one, which then wants the file from the hub.
        raise HubError(
            "An error happened while trying to locate the file on the Hub and we cannot find the requested files in "
            "the local cache. Please check your connection and try again or make sure your Internet connection is on."
        ) from error
    turns = [one.get("conversations", one.get("conversation", [])) for one in data]
    return [one[0]["value"] for one in turns if len(one) >= 2 and one[0]["value"]]


def _random(rng, args, texts):
    """Texts of a file, repeated or cut to the wanted lengths; without a file, random ones.

    A file with fewer texts than prompts gives fewer prompts.
    """
    inputs = lengths(rng, args.random_input_len, args.random_range_ratio, args.num_prompts)
    outputs = lengths(rng, args.random_output_len, args.random_range_ratio, args.num_prompts)
    if texts is not None:
        rng.shuffle(texts)
    prompts = []
    for index in range(args.num_prompts if texts is None else min(args.num_prompts, len(texts))):
        if texts is None:
            text = words(rng, inputs[index])
        else:
            own = re.findall(r"\w+", texts[index]) or ["the"]
            text = " ".join((own * (inputs[index] // len(own) + 1))[: inputs[index]])
        prompts.append(Prompt(text, inputs[index], outputs[index]))
    _totals(prompts)
    return prompts


def _shared_prefix(rng, args):
    groups, each, ratio = args.gsp_num_groups, args.gsp_prompts_per_group, args.gsp_range_ratio
    prefixes = [words(rng, count) for count in lengths(rng, args.gsp_system_prompt_len, ratio, groups)]
    questions = lengths(rng, args.gsp_question_len, ratio, groups * each)
    outputs = lengths(rng, args.gsp_output_len, ratio, groups * each)
    prompts = []
    for slot in range(groups * each):
        group = slot // each
        text = f"{prefixes[group]}\n\n{words(rng, questions[slot])}"
        key = f"group-{group}" if args.gsp_send_routing_key else None
        prompts.append(Prompt(text, len(answers.token_ids(text)), outputs[slot], routing_key=key))
    if not args.gsp_ordered:
        rng.shuffle(prompts)
    print("\nGenerated shared prefix dataset statistics:")
    print(f"Number of groups: {groups}\nPrompts per group: {each}\nTotal prompts: {len(prompts)}")
    _totals(prompts)
    return prompts


def size(resolution):
    """Width and height: a name, or height and width with an x between."""
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", resolution.strip().lower())
    if resolution not in SIZES and not match:
        raise ValueError(f"Unsupported image resolution: {resolution}.")
    return SIZES[resolution] if resolution in SIZES else (int(match[2]), int(match[1]))


def _images(rng, args):
    if args.backend not in ("sglang", "sglang-native", "sglang-oai-chat"):
        known = "['sglang', 'sglang-native', 'sglang-oai-chat']"
        raise ValueError(f"Image dataset only supports backends: {known}, got '{args.backend}'.")
    width, height = size(args.image_resolution)
    tokens = -(-width // PATCH) * -(-height // PATCH)
    inputs = lengths(rng, args.random_input_len, args.random_range_ratio, args.num_prompts)
    outputs = lengths(rng, args.random_output_len, args.random_range_ratio, args.num_prompts)
    prompts = []
    for index in range(args.num_prompts):
        count = rng.randint(1, args.image_count) if args.random_image_count else args.image_count
        # As many bytes as a picture of noise has, roughly; the stand-in engine does not look at them.
        data = base64.b64encode(rng.getrandbits(8 * (width * height // 8)).to_bytes(width * height // 8, "big"))
        images = [f"data:image/{args.image_format};base64,{data.decode()}"] * count
        text, vision = words(rng, inputs[index]), tokens * count
        prompts.append(Prompt(text, inputs[index] + vision, outputs[index], images, vision))
    _totals(prompts)
    print(f"#Total images: {sum(len(one.images) for one in prompts)}")
    return prompts


def _totals(prompts):
    print(f"#Input tokens: {sum(one.prompt_len for one in prompts)}")
    print(f"#Output tokens: {sum(one.output_len for one in prompts)}")
