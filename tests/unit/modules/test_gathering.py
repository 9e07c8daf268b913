# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bug report has of a host: bounded, and never a secret."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer
from ansible_collections.ascend.sglang.plugins.module_utils.gathering import Limits, gather, pack, scrubbed, secrets_of
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout

KEY, OLD = "sk-of-today-1234", "sk-of-yesterday"
UNIT = "sglang-decode"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A host with a service, its secrets, an earlier configuration and logs."""
    there = Layout(str(tmp_path))
    files = {
        there.launch(UNIT): "exec python3 -m sglang.launch_server --api-key @secret:api_key\n",
        there.secrets(UNIT): f"api_key={json.dumps(KEY)}\nshort={json.dumps('ab')}\n",
        there.service(UNIT): json.dumps({"argv": ["/venv/bin/python3", "-m", "x"]}),
        f"{there.history(UNIT)}/1/secrets.env": f"api_key={json.dumps(OLD)}\n",
        there.unit_file(UNIT): "[Service]\n",
        f"{there.logs(UNIT)}/plog/new.log": "new " + KEY + "\n",
        f"{there.logs(UNIT)}/plog/old.log": "o" * 500,
        f"{there.root}/etc/os-release": "NAME=openEuler\n",
    }
    for path, text in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    os.utime(f"{there.logs(UNIT)}/plog/old.log", (1, 1))
    return there


def archive(layout: Layout, each: int = 10000, plog: int = 10000) -> dict[str, str]:
    asked: list[list[str]] = []

    def ask(argv: list[str], timeout: float) -> Answer:
        asked.append(argv)
        if "journalctl" in argv:
            return Answer(0, "".join(f"line {number} {KEY}\n" for number in range(100)), "")
        if "npu-smi" in argv:
            return Answer(127, "", "npu-smi: No such file or directory")
        return Answer(0, f"$HOME {OLD}\n", "")

    stream = io.BytesIO()
    pack(stream, "d1", gather(layout, [UNIT], Limits(each, plog), 5, ask), secrets_of(layout))
    stream.seek(0)
    with tarfile.open(fileobj=stream) as packed:
        return {one.name: packed.extractfile(one).read().decode() for one in packed}  # type: ignore[union-attr]


def test_no_secret_is_in_it_not_even_an_earlier_one(layout):
    files = archive(layout)
    assert not any("secrets.env" in name for name in files)
    assert not any(KEY in text or OLD in text for text in files.values())
    assert "<redacted>" in files[f"d1/{UNIT}/{UNIT}.journal.txt"]
    # That one is named is no secret.
    assert "--api-key @secret:api_key" in files[f"d1/{UNIT}/launch.sh"]


def test_a_tool_that_is_missing_is_told(layout):
    assert "npu-smi: No such file or directory" in archive(layout)["d1/npu/npu-smi.txt"]


def test_of_long_outputs_the_end_is_kept_in_whole_lines(layout):
    text = archive(layout, each=100)[f"d1/{UNIT}/{UNIT}.journal.txt"]
    lines = text.splitlines()
    assert lines[1].startswith("[the first ")
    assert lines[2].startswith("line 9")
    assert lines[-1] == "line 99 <redacted>"
    assert len(text) < 300


def test_of_the_vendors_logs_the_newest_are_kept(layout):
    files = archive(layout, plog=100)
    assert f"d1/{UNIT}/plog/plog/new.log" in files
    assert f"d1/{UNIT}/plog/plog/old.log" not in files
    assert f"d1/{UNIT}/plog/plog/old.log" in archive(layout)


def test_the_packages_are_those_of_the_services_python(layout):
    assert "/venv/bin/python3" in archive(layout)[f"d1/{UNIT}/packages.txt"]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("--api-key abc --port 1", "--api-key <redacted> --port 1"),
        ("ServerArgs(api_key='abc', x=1)", "ServerArgs(api_key='<redacted>', x=1)"),
        ("Authorization: Bearer abc", "Authorization: Bearer <redacted>"),
        ("HF_TOKEN=abc", "HF_TOKEN=<redacted>"),
        ("http://me:abc@proxy:3128", "http://me:<redacted>@proxy:3128"),
        ("max_tokens=5 api_key=None", "max_tokens=5 api_key=None"),
    ],
)
def test_what_names_itself_a_secret_goes_too(text, clean):
    assert scrubbed(text.encode(), []).decode() == clean
