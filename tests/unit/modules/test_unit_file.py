# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit of a service, and when a running one has to be restarted for it."""

from __future__ import annotations

import configparser

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import kept_out, unit_file
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import parse
from ansible_collections.ascend.sglang.plugins.module_utils.unit_file import UnitOptions, render


def service_section(text: str) -> list[str]:
    return text.partition("[Service]\n")[2].partition("\n[Install]")[0].splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "Type=exec",
        "ExecStart=/bin/bash /etc/ascend-sglang/sglang-decode/launch.sh",
        "TimeoutStartSec=infinity",
        "TimeoutStopSec=120",
        "KillMode=mixed",
        "SuccessExitStatus=137 SIGKILL",
        "Restart=always",
        "LimitMEMLOCK=infinity",
        "LimitNOFILE=1048576",
        "TasksMax=infinity",
        "SyslogIdentifier=sglang-decode",
        "Environment=HOME=/var/lib/ascend-sglang/sglang-decode",
        "Environment=PYTHONUNBUFFERED=1",
        "Environment=LANG=C.UTF-8",
        "Environment=SPT_NOENV=1",
    ],
)
def test_what_an_engine_needs(decode, line):
    assert line in service_section(render(parse(decode), UnitOptions(), "launch").text)


def test_proxies_and_redirections_are_kept_out(decode):
    text = render(parse(decode), UnitOptions(), "launch").text
    (line,) = [line for line in text.splitlines() if line.startswith("UnsetEnvironment=")]
    names = line.partition("=")[2].split()
    assert {"http_proxy", "HTTPS_PROXY", "no_proxy", *kept_out.OF_HOSTS} <= {*names}


def test_it_is_a_unit_file_that_says_whose_it_is(decode):
    unit = render(parse(decode), UnitOptions(stop_timeout=30), "launch")
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(unit.text)
    assert parser.sections() == ["Unit", "Service", "Install", "X-AscendSglang"]
    assert unit_file.facts(unit.text) == {
        "role": "decode",
        "instance": "0",
        "rank": "1",
        "nodes": "2",
        "url": "http://192.0.2.22:8001",
        "ports": "http:8001",
        "launch": unit.digest,
        "stop_timeout": "30",
    }


@pytest.mark.parametrize("text", ["", "[Unit]\nDescription=SGLang\n[Service]\nRole=decode\n"])
def test_another_file_is_not_ours(text):
    assert unit_file.facts(text) is None


def lines_with(text: str, *starts: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(starts)]


def test_engines_run_as_root_by_default(decode):
    text = render(parse(decode), UnitOptions(npu_group=True), "launch").text
    assert lines_with(text, "User=", "DynamicUser=", "SupplementaryGroups=", "LoadCredential=") == []


def test_another_user_reaches_the_devices_by_group(decode):
    text = render(parse(decode), UnitOptions(user="sglang", npu_group=True), "launch").text
    assert lines_with(text, "User=", "SupplementaryGroups=") == ["User=sglang", "SupplementaryGroups=HwHiAiUser"]


def test_without_the_group_nobody_becomes_its_member(decode):
    text = render(parse(decode), UnitOptions(user="sglang"), "launch").text
    assert lines_with(text, "SupplementaryGroups=") == []


def test_a_router_has_no_privilege(router):
    text = render(parse(router), UnitOptions(npu_group=True), "launch").text
    assert lines_with(text, "DynamicUser=", "CapabilityBoundingSet=") == ["DynamicUser=yes", "CapabilityBoundingSet="]
    assert lines_with(text, "SupplementaryGroups=", "ASCEND_PROCESS_LOG_PATH") == []


def test_a_router_below_1024_may_bind_its_port(router):
    router["ports"]["http"] = 80
    text = render(parse(router), UnitOptions(), "launch").text
    assert "AmbientCapabilities=CAP_NET_BIND_SERVICE" in text
    assert "CapabilityBoundingSet=CAP_NET_BIND_SERVICE" in text


def test_secrets_come_through_systemd_unless_root_reads_them(router, decode):
    for one in (router, decode):
        one["argv"] += ["--api-key", {"secret": "api_key"}]
    assert "LoadCredential=secrets.env:/etc/ascend-sglang/sglang-router/secrets.env" in service_section(
        render(parse(router), UnitOptions(), "launch").text
    )
    assert "LoadCredential" not in render(parse(decode), UnitOptions(), "launch").text


def test_the_directory_of_the_python_leads_the_path(decode):
    decode["argv"][0] = "/opt/my %venv/bin/python3"
    text = render(parse(decode), UnitOptions(), "launch").text
    assert 'Environment="PATH=/opt/my %%venv/bin:/usr/local/sbin:' in text


def test_the_digest_follows_what_the_process_was_started_with(decode):
    base = render(parse(decode), UnitOptions(), "launch")
    assert f"Environment=ASCEND_SGLANG_LAUNCH={base.digest}" in base.text
    for other in (
        render(parse(decode), UnitOptions(), "another launch"),
        render(parse(decode), UnitOptions(), "launch", secrets_mark="mark"),
        render(parse(decode), UnitOptions(user="sglang"), "launch"),
    ):
        assert other.digest != base.digest


def test_a_longer_stop_restarts_nothing(decode):
    base = render(parse(decode), UnitOptions(), "launch")
    other = render(parse(decode), UnitOptions(stop_timeout=600), "launch")
    assert other.digest == base.digest
    assert other.text != base.text
    assert unit_file.changes(base.text, other.text) == "TimeoutStopSec"
