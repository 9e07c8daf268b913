# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the toolkit and ATB are found, in every layout, and what is said where they are not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import cann

ASCEND = "/usr/local/Ascend"


def find(host, **options):
    return cann.find(root=str(host.root), homes=options.pop("homes", []), **options)


def levels(found):
    return [problem["level"] for problem in found["problems"]]


def text(found):
    return " ".join(f"{p['where']} {p['what']} {p['do']}" for p in found["problems"])


def test_layout_of_8(host):
    host.toolkit_8("8.2.RC1")
    host.atb("8.2.RC1")
    found = find(host)
    assert found["toolkit"]["path"] == f"{ASCEND}/ascend-toolkit/set_env.sh"
    assert found["toolkit"]["version"] == "8.2.RC1"
    assert found["atb"] == {
        "path": f"{ASCEND}/nnal/atb/set_env.sh",
        "home": f"{ASCEND}/nnal/atb/8.2.RC1",
        "version": "8.2.RC1",
    }
    assert found["problems"] == []


def test_layout_of_9_with_its_link(host):
    host.toolkit_9()
    host.atb()
    found = find(host)
    assert found["toolkit"] == {
        "path": f"{ASCEND}/cann/set_env.sh",
        "home": f"{ASCEND}/cann-9.0.0",
        "version": "9.0.0",
    }
    assert found["problems"] == []


def test_layout_of_9_without_its_link(host):
    host.toolkit_9("8.5.0", link=False)
    host.atb("8.5.0")
    assert find(host)["toolkit"]["path"] == f"{ASCEND}/cann-8.5.0/set_env.sh"


def test_the_old_name_as_a_link_to_the_new_layout_is_one_installation(host):
    host.toolkit_9()
    host.atb()
    host.write(f"{ASCEND}/ascend-toolkit/set_env.sh")
    host.link(f"{ASCEND}/ascend-toolkit/latest", "../cann-9.0.0")
    found = find(host)
    assert found["toolkit"]["path"] == f"{ASCEND}/ascend-toolkit/set_env.sh"
    assert found["toolkit"]["version"] == "9.0.0"
    assert found["problems"] == []


def test_latest_as_a_directory_of_links(host):
    host.toolkit_8("8.0.0")
    (host.root / "usr/local/Ascend/ascend-toolkit/latest").unlink()
    host.link(f"{ASCEND}/ascend-toolkit/latest/aarch64-linux", "../8.0.0/aarch64-linux")
    host.atb("8.0.0")
    assert find(host)["toolkit"]["version"] == "8.0.0"


def test_absolute_links_stay_inside_the_root(host):
    host.toolkit_9(link=False)
    host.link(f"{ASCEND}/cann", f"{ASCEND}/cann-9.0.0")
    host.atb()
    assert find(host)["toolkit"]["path"] == f"{ASCEND}/cann/set_env.sh"


@pytest.mark.parametrize(
    "record",
    [
        "Install_Path=/data/huawei\nToolkit_InstallPath=/data/huawei/cann-9.0.0\n",
        "# left by somebody\n\nToolkit_InstallPath = '/data/huawei/cann-9.0.0'\nInstall_Path=/data/huawei\n= =\n",
    ],
)
def test_another_prefix_from_the_installers_record(host, record):
    host.toolkit_9(prefix="/data/huawei", link=False)
    host.atb(prefix="/data/huawei")
    host.write("/etc/Ascend/ascend_cann_install.info", record)
    found = find(host)
    assert found["toolkit"]["path"] == "/data/huawei/cann-9.0.0/set_env.sh"
    assert found["atb"]["path"] == "/data/huawei/nnal/atb/set_env.sh"
    assert found["problems"] == []


@pytest.mark.parametrize(
    "directory", ["/opt/cann/ascend-toolkit/latest", "/opt/cann/ascend-toolkit/8.3.RC1", "/opt/cann/ascend-toolkit"]
)
@pytest.mark.parametrize("key", ["Toolkit_InstallPath", "Install_Path"])
def test_a_recorded_directory_of_a_toolkit_leads_to_its_script_and_to_the_atb_beside_it(host, key, directory):
    host.toolkit_8("8.3.RC1", prefix="/opt/cann")
    host.atb("8.3.RC1", prefix="/opt/cann")
    host.write("/etc/Ascend/ascend_cann_install.info", f"[info]\n{key}={directory}\n")
    found = find(host)
    assert found["toolkit"]["path"] == "/opt/cann/ascend-toolkit/set_env.sh"
    assert found["atb"]["path"] == "/opt/cann/nnal/atb/set_env.sh"
    assert found["problems"] == []


def test_a_recorded_toolkit_of_9_leads_to_the_atb_beside_it(host):
    host.toolkit_9(prefix="/opt/cann", link=False)
    host.atb(prefix="/opt/cann")
    host.write("/etc/Ascend/ascend_cann_install.info", "Toolkit_InstallPath=/opt/cann/cann-9.0.0\n")
    found = find(host)
    assert found["toolkit"]["path"] == "/opt/cann/cann-9.0.0/set_env.sh"
    assert found["atb"]["path"] == "/opt/cann/nnal/atb/set_env.sh"
    assert found["problems"] == []


def test_a_record_that_is_no_record_is_passed_over(host):
    file = host.write("/etc/Ascend/ascend_cann_install.info")
    file.write_bytes(b"\xff\xfe\x00Toolkit_InstallPath\nInstall_Path=relative/path\n")
    host.toolkit_9()
    host.atb()
    assert find(host)["problems"] == []


def test_home_of_a_user_who_is_not_root(host):
    host.toolkit_9(prefix="/home/sglang/Ascend")
    host.atb(prefix="/home/sglang/Ascend")
    found = find(host, homes=["/home/sglang"])
    assert found["toolkit"]["path"] == "/home/sglang/Ascend/cann/set_env.sh"
    assert found["atb"]["path"] == "/home/sglang/Ascend/nnal/atb/set_env.sh"


@pytest.mark.parametrize(
    "override", ["/opt/my ascend/cann/set_env.sh", "/opt/my ascend/cann", "/opt/my ascend", "/opt/my ascend/"]
)
def test_override_by_script_directory_or_prefix(host, override):
    host.toolkit_8()
    host.atb()
    host.toolkit_9(prefix="/opt/my ascend")
    found = find(host, toolkit=override)
    assert found["toolkit"]["path"] == "/opt/my ascend/cann/set_env.sh"
    assert levels(found) == []


def test_the_homes_that_are_looked_into_are_those_of_the_services_accounts(monkeypatch):
    accounts = {"root": SimpleNamespace(pw_dir="/root"), "sglang": SimpleNamespace(pw_dir="/home/s")}
    monkeypatch.setattr(cann.pwd, "getpwnam", accounts.__getitem__)
    monkeypatch.setenv("HOME", "/here")
    assert cann.homes_of(["sglang", ""]) == ["/home/s"]
    assert cann.homes_of(["root"]) == ["/root"]
    assert cann.homes_of(["nobody-here", ""]) == cann.homes_of([]) == ["/here"]


@pytest.mark.parametrize("override", ["", "/cann", "/cann-9.0.0", "/cann/set_env.sh", "/cann/"])
def test_atb_is_looked_for_beside_a_toolkit_that_somebody_chose_first(host, override):
    host.toolkit_9(prefix="/opt/my ascend")
    host.atb(prefix="/opt/my ascend")
    host.atb()
    found = find(host, toolkit=f"/opt/my ascend{override}")
    assert found["atb"]["path"] == "/opt/my ascend/nnal/atb/set_env.sh"
    assert levels(found) == ["warning"], "there are two ATBs"


def test_an_override_by_what_ascend_home_path_is(host):
    host.toolkit_8("8.2.RC1", prefix="/opt/cann")
    host.write("/opt/cann/ascend-toolkit/8.1.RC1/version.cfg")
    host.atb("8.2.RC1")
    for directory in ("latest", "8.2.RC1"):
        found = find(host, toolkit=f"/opt/cann/ascend-toolkit/{directory}")
        assert found["toolkit"]["path"] == "/opt/cann/ascend-toolkit/set_env.sh"
        assert found["toolkit"]["version"] == "8.2.RC1"
    # Its script would give another version than the one that was asked for.
    found = find(host, toolkit="/opt/cann/ascend-toolkit/8.1.RC1")
    assert found["toolkit"] is None


def test_an_atb_that_launch_sh_would_not_know_is_refused(host):
    host.toolkit_9()
    host.write("/opt/acceleration/set_env.sh")
    found = find(host, atb="/opt/acceleration")
    assert found["atb"] is None
    assert "cann_atb is /opt/acceleration, and ATB's script is known by a directory" in text(found)
    host.link("/opt/atb", "acceleration")
    assert find(host, atb="/opt/atb")["atb"]["path"] == "/opt/atb/set_env.sh"


@pytest.mark.parametrize("option", ["toolkit", "atb"])
def test_an_override_that_is_relative_is_refused(host, option):
    host.toolkit_9()
    host.atb()
    found = find(host, **{option: "usr/local/Ascend"})
    assert found[option] is None
    assert f"cann_{option} is usr/local/Ascend, which is no absolute path. Set cann_{option} to a path" in text(found)


def test_an_override_that_is_not_there_is_refused_although_others_are(host):
    host.toolkit_9()
    host.atb()
    found = find(host, toolkit="/opt/cann/set_env.sh")
    assert found["toolkit"] is None
    assert levels(found) == ["error"]
    assert "cann_toolkit is /opt/cann/set_env.sh" in text(found)


def test_dangling_latest_is_refused_and_named(host):
    host.toolkit_8("8.3.RC1")
    (host.root / "usr/local/Ascend/ascend-toolkit/8.3.RC1").rename(host.root / "gone")
    host.atb()
    found = find(host)
    assert found["toolkit"] is None
    assert levels(found) == ["error"]
    assert f"{ASCEND}/ascend-toolkit/latest is a link to 8.3.RC1, which does not exist" in text(found)
    assert "cann_toolkit" in text(found)


def test_dangling_latest_without_a_script(host):
    host.link(f"{ASCEND}/ascend-toolkit/latest", "8.3.RC1")
    assert "link to 8.3.RC1" in text(find(host))


def test_dangling_left_over_is_a_warning_beside_a_whole_one(host):
    host.link(f"{ASCEND}/ascend-toolkit/latest", "8.3.RC1")
    host.write(f"{ASCEND}/ascend-toolkit/set_env.sh")
    host.toolkit_9()
    host.atb()
    found = find(host)
    assert found["toolkit"]["path"] == f"{ASCEND}/cann/set_env.sh"
    assert levels(found) == ["warning"]


@pytest.mark.parametrize("target", ["cann-9.0.0", "/usr/local/Ascend/cann-9.0.0", "../Ascend/nowhere/../cann-9.0.0"])
def test_dangling_cann(host, target):
    host.link(f"{ASCEND}/cann", target)
    found = find(host)
    assert found["toolkit"] is None
    assert f"{ASCEND}/cann is a link to {target}" in text(found)


def test_a_link_in_a_circle(host):
    host.link(f"{ASCEND}/cann", "cannot")
    host.link(f"{ASCEND}/cannot", "cann")
    assert "leads back to itself" in text(find(host))


def test_dangling_atb(host):
    host.toolkit_9()
    host.write(f"{ASCEND}/nnal/atb/set_env.sh")
    host.link(f"{ASCEND}/nnal/atb/latest", "9.0.0")
    found = find(host)
    assert found["atb"] is None
    assert levels(found) == ["error"]
    assert "cann_atb" in text(found)


def test_nothing_installed_says_where_was_looked(host):
    found = find(host)
    assert found["toolkit"] is None
    assert found["atb"] is None
    assert levels(found) == ["error", "error"]
    assert f"{ASCEND}/ascend-toolkit/set_env.sh" in text(found)
    assert f"{ASCEND}/nnal/atb/set_env.sh" in text(found)


def test_two_toolkits_are_named_with_their_versions(host):
    host.toolkit_8("8.2.RC1")
    host.toolkit_9("9.0.0")
    host.atb("8.2.RC1")
    found = find(host)
    assert found["toolkit"]["version"] == "8.2.RC1"
    assert levels(found) == ["warning"]
    assert "installed 2 times" in text(found)
    assert "(8.2.RC1)" in text(found)
    assert "(9.0.0)" in text(found)


def test_the_newest_of_several_without_a_link(host):
    for version in ("8.5.0", "9.2.0-beta.2", "9.2.0", "9.10.0"):
        host.toolkit_9(version, link=False)
    host.atb("9.10.0")
    assert find(host)["toolkit"]["version"] == "9.10.0"


def test_versions_sort_as_released():
    ordered = ["8.2.RC1", "8.2.RC2", "8.2", "8.5.0", "9.2.0-beta.2", "9.2.0", "9.10.0"]
    assert sorted(ordered, key=cann._version_key) == ordered


def test_toolkit_and_atb_of_two_releases(host):
    host.toolkit_9("9.0.0")
    host.atb("8.2.RC1")
    found = find(host)
    assert levels(found) == ["warning"]
    assert "9.0.0, ATB is 8.2.RC1" in text(found)


def test_case_of_a_version_does_not_matter(host):
    host.toolkit_8("8.2.RC1")
    host.atb("8.2.rc1")
    assert find(host)["problems"] == []


@pytest.mark.parametrize(
    ("file", "content", "version"),
    [
        ("share/info/runtime/version.info", "Version=9.0.0\nversion_dir=cann-9.0.0\n", "9.0.0"),
        ("share/info/runtime/version.info", "Version=8.2.0.1.220\nversion_dir=8.2.RC1\n", "8.2.RC1"),
        ("version.cfg", "# version: 1.0\nruntime_running_version=[8.2.0.1.220:8.2.RC1]\n", "8.2.RC1"),
        ("x86_64-linux/ascend_toolkit_install.info", "version=8.3.RC2\narch=x86_64\n", "8.3.RC2"),
        ("readme", "", None),
    ],
)
def test_version_without_the_installers_own_record(host, file, content, version):
    host.write("/opt/c/set_env.sh")
    host.write(f"/opt/c/{file}", content)
    host.atb()
    assert find(host, toolkit="/opt/c")["toolkit"]["version"] == version
