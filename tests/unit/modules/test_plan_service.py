# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service of a plan is checked before anything is made of it."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import (
    PlanServiceError,
    Secret,
    parse,
    parse_all,
)


def test_a_service_is_read(decode):
    service = parse(decode)
    assert service.python == "python3"
    assert service.module == "sglang.launch_server"
    assert service.arguments[:2] == ("--model-path", "/models/r1")
    assert service.env == (("GLOO_SOCKET_IFNAME", "eth1"), ("HCCL_BUFFSIZE", "650"))
    assert service.port_ranges == (("hccl", 60000, 60015),)
    assert service.title == "decode instance 0, node rank 1 of 2"


def test_keys_that_are_not_known_are_left_alone(decode):
    assert parse({**decode, "colour": {"any": "thing"}}) == parse(decode)


def test_the_order_of_mappings_does_not_matter(decode):
    turned = {**decode, "env": dict(reversed(list(decode["env"].items())))}
    assert parse(turned) == parse(decode)


def test_secrets_are_named_once(decode):
    decode["argv"] += ["--api-key", {"secret": "api_key"}, "--admin-api-key", {"secret": "api_key"}]
    service = parse(decode)
    assert service.secrets == ("api_key",)
    assert service.argv[-1] == Secret("api_key")


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("unit", "nginx", "unit: 'nginx' is not a unit name"),
        ("unit", "sglang-decode/../x", "is not a unit name"),
        ("unit", "sglang-decode\n", "is not a unit name"),
        ("host", "", "host is ''"),
        ("host", "d2\n[Service]", "a text on one line"),
        ("role", "worker", "one of prefill, decode, mixed, router, store"),
        ("rank", "1", "rank is '1', but must be a whole number"),
        ("rank", True, "rank is True"),
        ("nnodes", -1, "nnodes is -1"),
        ("argv", ["python3", "sglang"], "[python, -m, module, ...]"),
        ("argv", "python3 -m sglang", "argv is 'python3 -m sglang', but must be a list"),
        ("argv", ["python3", "-m", "m", 5], "argv is 5"),
        ("argv", ["python3", "-m", "m", "a\0b"], "without NUL"),
        ("argv", ["python3", "-m", "m", {"secret": "../x"}], '{"secret": NAME}'),
        ("env", {"A B": "1"}, "env is 'A B'"),
        ("env", {"A": 1}, "env.A is 1"),
        ("env", ["A=1"], "must be a mapping"),
        ("unset", ["a-b"], "names of environment variables"),
        ("source", ["set_env.sh"], "absolute paths"),
        ("url", "192.0.2.1:8000", "a URL such as"),
        ("url", "tcp://192.0.2.1:8000", "a URL such as http://"),
        ("ports", {"http": 70000}, "ports.http is 70000"),
        ("ports", {"http": "8000"}, "ports.http is '8000'"),
        ("port_ranges", {"hccl": [60015, 60000]}, "[first, last]"),
    ],
)
def test_what_cannot_be_is_refused_by_name(decode, key, value, says):
    with pytest.raises(PlanServiceError) as refusal:
        parse({**decode, key: value})
    assert says in str(refusal.value)


def test_a_unit_appears_once_on_a_host(decode, router):
    with pytest.raises(PlanServiceError, match="sglang-decode is in the list of services twice for host d2"):
        parse_all([decode, router, decode])
    assert len(parse_all([decode, {**decode, "host": "d1"}])) == 2


def test_a_store_is_at_no_http_url(decode):
    store = {**decode, "unit": "sglang-store", "role": "store", "url": "tcp://192.0.2.31:24670"}
    assert parse(store).url == "tcp://192.0.2.31:24670"
    with pytest.raises(PlanServiceError, match=r"a URL such as tcp://192\.0\.2\.31:24670"):
        parse({**store, "url": "http://192.0.2.31:24670"})
