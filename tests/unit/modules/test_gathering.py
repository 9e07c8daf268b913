# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bug report has of a host: bounded, and never a secret."""

from __future__ import annotations

import io
import json
import os
import shlex
import tarfile
import time
from pathlib import Path
from urllib.parse import quote

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
        ("export HF_TOKEN='a b'", "export HF_TOKEN='<redacted>'"),
        ('export HF_TOKEN="abc"', 'export HF_TOKEN="<redacted>"'),
        ('{"HF_TOKEN": "a\\"bc", "x": "y"}', '{"HF_TOKEN": "<redacted>", "x": "y"}'),
        ("export AWS_SECRET_ACCESS_KEY=abc", "export AWS_SECRET_ACCESS_KEY=<redacted>"),
        ("OPENAI_API_KEY='abc'", "OPENAI_API_KEY='<redacted>'"),
        ("DB_PASSWORD='abc' db_passwd=123", "DB_PASSWORD='<redacted>' db_passwd=<redacted>"),
        ("hf_token: abc", "hf_token: <redacted>"),
        ("x-api-key: abc", "x-api-key: <redacted>"),
        ("api_key=abc, x=1", "api_key=<redacted>, x=1"),
        ("['--api-key', 'abc', '--port']", "['--api-key', '<redacted>', '--port']"),
        ('["--api-key", "abc"]', '["--api-key", "<redacted>"]'),
        ("--ssl-keyfile-password abc --port 1", "--ssl-keyfile-password <redacted> --port 1"),
        ("ssl_keyfile_password='abc'", "ssl_keyfile_password='<redacted>'"),
        ("authorization: basic YWJj", "authorization: basic <redacted>"),
        ("socks5h://me:abc@proxy", "socks5h://me:<redacted>@proxy"),
    ],
)
def test_what_names_itself_a_secret_goes_too(text, clean):
    assert scrubbed(text.encode(), []).decode() == clean


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=5 api_key=None admin_api_key=None hf_token: null",
        "max_total_num_tokens=1234, num_token: 5, token=8 new-token: 0",
        "tokenizer_path='/models/x', skip_tokenizer_init=False, tokenizer: /models/x",
        '"argv": ["--api-key", {"secret": "api_key"}]',
        "--api-key @secret:api_key --skip-token --port 1",
        "http://192.0.2.11:8000/health tcp://192.0.2.11:24670",
        "HF_TOKEN=\nPATH=/bin",
    ],
)
def test_what_is_no_secret_stays(text: str):
    assert scrubbed(text.encode(), []).decode() == text


@pytest.mark.parametrize("value", ['pa"ss\\word', "it's one", "schl\u00fcssel", "a/b+c=&d"])
def test_secrets_as_others_write_them(layout, value: str):
    Path(layout.secrets(UNIT)).write_text(f"api_key={json.dumps(value)}\n")
    known = secrets_of(layout)
    for text in (value, json.dumps({"k": value}), json.dumps({"k": value}, ensure_ascii=False), repr({"k": value})):
        assert "<redacted>" in scrubbed(text.encode(), known).decode(), text
    assert "<redacted>" in scrubbed(f"http://x/?k={quote(value, safe='')}".encode(), known).decode()
    assert "<redacted>" in scrubbed(f"X={shlex.quote(value)}".encode(), known).decode()


@pytest.mark.parametrize("text", ["a" * 300_000, "--" + "a-" * 150_000, "a-" * 150_000, "x://" * 75_000, "-" * 300_000])
def test_long_lines_take_no_time(text: str):
    began = time.process_time()
    assert scrubbed(text.encode(), []).decode() == text
    assert time.process_time() - began < 5
