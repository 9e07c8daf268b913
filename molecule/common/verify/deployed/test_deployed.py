# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a deploy: what runs is what the plan says, and the entrance answers."""

from __future__ import annotations

import json
import shlex

import pytest

CHAT = {"model": "default", "messages": [{"role": "user", "content": "Say hello"}], "max_tokens": 12, "temperature": 0}


def test_the_units_run_and_start_at_boot(cluster):
    for host, unit in cluster.units:
        service = host.service(unit)
        assert service.is_running, unit
        assert service.is_enabled, unit
    cluster.remember("incarnations", cluster.incarnations())


def test_no_unit_of_a_host_has_failed(cluster):
    assert set(cluster.everywhere("systemctl --failed --no-legend --plain").values()) == {""}


def test_processes_have_the_command_line_of_the_plan(cluster):
    # The router gives its process another title; what it was started with shows in what it does.
    for service in cluster.of_role("prefill", "decode", "mixed"):
        host = cluster.hosts[service["host"]]
        words = host.check_output(f"tr '\\0' '\\n' </proc/{_pid(host, service)}/cmdline").split("\n")
        planned = [word for word in service["argv"] if isinstance(word, str)]
        assert words[1:] == planned[1:], service["unit"]


def test_processes_have_the_environment_of_the_plan(cluster):
    for service in cluster.services:
        host = cluster.hosts[service["host"]]
        lines = host.check_output(f"tr '\\0' '\\n' </proc/{_pid(host, service)}/environ").split("\n")
        environment = dict(line.split("=", 1) for line in lines if "=" in line)
        for name, value in service["env"].items():
            # The vendor's scripts put their own folders in front of paths.
            assert environment.get(name, "").endswith(value), f"{service['unit']}: {name}"
        for name in service["unset"]:
            assert name not in environment, f"{service['unit']}: {name}"
        for script in service["source"]:
            wanted = "ATB_HOME_PATH" if "atb" in script else "ASCEND_HOME_PATH"
            assert wanted in environment, f"{service['unit']}: {script} was not sourced"


def test_the_launch_script_can_be_read_and_names_what_it_starts(cluster):
    for service in cluster.services:
        script = cluster.hosts[service["host"]].file(f"/etc/ascend-sglang/{service['unit']}/launch.sh")
        assert script.mode & 0o111, script.path
        text = script.content_string
        assert service["argv"][2] in text
        for name, value in service["env"].items():
            assert name in text, f"{script.path} does not export {name}"
            assert value in text or shlex.quote(value) in text, f"{script.path}: {name}"


def test_heads_serve_on_the_planned_address_and_nobody_else(cluster):
    for service in cluster.services:
        host = cluster.hosts[service["host"]]
        port = service["ports"]["http"]
        listening = {line.split()[3] for line in host.check_output("ss -Htln").splitlines()}
        at = [address for address in listening if address.endswith(f":{port}")]
        if service["rank"] == 0:
            assert at == [service["url"].removeprefix("http://")], f"{service['host']} {service['unit']}"


def test_ports_of_the_plan_are_open(cluster):
    for service in cluster.services:
        host = cluster.hosts[service["host"]]
        listening = {int(line.split()[3].rsplit(":", 1)[1]) for line in host.check_output("ss -Htln").splitlines()}
        for name, port in service["ports"].items():
            if name in ("http", "bootstrap", "store") and service["rank"] == 0:
                assert port in listening, f"{service['host']} {service['unit']}: {name} {port}"


def test_the_entrance_lists_a_model(cluster):
    assert json.loads(cluster.ask("/v1/models"))["data"]


@pytest.mark.parametrize("number", range(3))
def test_a_chat_completion(cluster, number):
    answer = json.loads(cluster.ask("/v1/chat/completions", CHAT))
    assert answer["choices"][0]["message"]["content"]
    assert answer["usage"]["completion_tokens"] > 0


def test_a_completion(cluster):
    answer = json.loads(cluster.ask("/v1/completions", {"model": "default", "prompt": "Hello", "max_tokens": 8}))
    assert answer["choices"][0]["text"]


def test_a_native_completion(cluster):
    answer = json.loads(cluster.ask("/generate", {"text": "Hello", "sampling_params": {"max_new_tokens": 8}}))
    assert answer["text"]


def test_a_streamed_chat_completion(cluster):
    lines = [line for line in cluster.ask("/v1/chat/completions", CHAT | {"stream": True}).splitlines() if line]
    assert all(line.startswith("data: ") for line in lines), lines
    assert lines[-1] == "data: [DONE]"
    pieces = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert len(pieces) > 2, "one piece is no stream"
    assert "".join(piece["choices"][0]["delta"].get("content") or "" for piece in pieces if piece["choices"])


def test_every_prefill_and_every_decode_instance_is_used(cluster):
    heads = [service for service in cluster.of_role("prefill", "decode") if service["rank"] == 0]
    idle = {f"{one['host']} {one['unit']}" for one in heads}
    # The router of the recipes picks at random; sixty-four times the same one of two does not happen.
    for _request in range(64):
        cluster.ask("/v1/chat/completions", CHAT)
        idle -= {f"{one['host']} {one['unit']}" for one in heads if _answered(cluster.hosts[one["host"]], one["unit"])}
        if not idle:
            return
    pytest.fail(f"never asked: {sorted(idle)}")


def _answered(host, unit: str) -> bool:
    return '"POST /v1/chat/completions HTTP/1.1" 200' in host.check_output(f"journalctl --no-pager -o cat -u {unit}")


def _pid(host, service: dict) -> str:
    return host.check_output(f"systemctl show --value --property=MainPID {service['unit']}")
