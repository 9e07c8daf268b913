# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""npu-smi info in the layouts of several releases and products."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import npu_smi
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer

SAMPLES = pathlib.Path(__file__).parent / "samples"

# Sample -> product, number of NPUs.
LAYOUTS = {
    "npu-smi_info_a2_910b1_v23.0.rc2_idle_no_process_table": ("A2", 8),
    "npu-smi_info_a2_910b2_v24.1.0.3_one_alarm": ("A2", 8),
    "npu-smi_info_a2_910b2c_v25.2.1_one_warning": ("A2", 8),
    "npu-smi_info_a2_910b3_head2026_w97_busy": ("A2", 8),
    "npu-smi_info_a2_910b3_v23.0.5_idle": ("A2", 8),
    "npu-smi_info_a2_910b3_v25.2.1_one_npu_busy": ("A2", 8),
    "npu-smi_info_a2_910b4-1_v25.0.rc1.1_busy": ("A2", 8),
    "npu-smi_info_a2_910b4_v24.1.1_idle": ("A2", 8),
    "npu-smi_info_a2_driver_incomplete_trailer": ("A2", 8),
    "npu-smi_info_a3_head2026_w97_idle": ("A3", 16),
    "npu-smi_info_a3_v24.1.rc3.7_idle": ("A3", 16),
    "npu-smi_info_a3_v25.2.1_both_dies_critical": ("A3", 16),
    "npu-smi_info_a3_v25.2.1_busy_all_dies": ("A3", 16),
    "npu-smi_info_a3_v25.2.1_container_two_cards": ("A3", 4),
    "npu-smi_info_a3_v25.2.1_idle": ("A3", 16),
    "npu-smi_info_a3_v25.2.1_one_die_alarm": ("A3", 16),
    "npu-smi_info_a3_v25.2.1_one_die_warning": ("A3", 16),
    "npu-smi_info_a3_v26.0.rc2_idle": ("A3", 16),
    "npu-smi_info_truncated_a2_no_process_rows": ("A2", 8),
}


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text()


def test_every_layout_is_here():
    there = {path.stem for path in SAMPLES.glob("npu-smi_info_*.txt") if "_other_" not in path.name}
    assert there == set(LAYOUTS)


@pytest.mark.parametrize("name", LAYOUTS)
def test_number_and_memory(name: str):
    product, count = LAYOUTS[name]
    found = npu_smi.parse(sample(name))
    assert (found.product, len(found.npus)) == (product, count)
    assert found.version
    assert {one.total for one in found.npus} <= {32768, 65536}
    assert all(0 < one.used < one.total for one in found.npus)
    if count == 16:
        assert [one.number for one in found.npus] == list(range(16))
        assert [(one.card, one.chip) for one in found.npus] == [(number // 2, number % 2) for number in range(16)]


@pytest.mark.parametrize("name", LAYOUTS)
def test_health(name: str):
    ill = [one.health for one in npu_smi.parse(sample(name)).npus if one.health != "OK"]
    words = {"alarm": ["Alarm"], "warning": ["Warning"], "both_dies_critical": ["Critical", "Critical"]}
    assert ill == next((told for word, told in words.items() if name.endswith(word)), [])


def test_numbers_in_a_container_are_the_hosts():
    found = npu_smi.parse(sample("npu-smi_info_a3_v25.2.1_container_two_cards"))
    assert [one.number for one in found.npus] == [8, 9, 10, 11]


def test_processes():
    busy = npu_smi.parse(sample("npu-smi_info_a2_910b3_v25.2.1_one_npu_busy"))
    assert busy.processes == [npu_smi.Process(0, 0, 60777, "demo-train", 36500)]
    assert busy.npus[0].used > 36500
    dies = npu_smi.parse(sample("npu-smi_info_a3_v25.2.1_busy_all_dies")).processes
    assert [(one.card, one.chip) for one in dies or ()] == [(number // 2, number % 2) for number in range(16)]
    assert npu_smi.parse(sample("npu-smi_info_a3_v26.0.rc2_idle")).processes == []


@pytest.mark.parametrize(("name", "inside"), [("python3.1", "NA"), ("", "77")])
def test_a_process_of_a_container_and_one_without_a_name(name: str, inside: str):
    row = f"| 2       0                 | 632268        | {name:<18} | 59685                 | {inside:<23} |"
    text = sample("npu-smi_info_a3_v26.0.rc2_idle")
    nobody = next(line for line in text.splitlines() if "found in NPU 2" in line)
    (found,) = npu_smi.parse(text.replace(nobody, row)).processes or ()
    assert (found.card, found.chip, found.pid, found.megabytes) == (2, 0, 632268, 59685)


@pytest.mark.parametrize("name", ["a2_910b1_v23.0.rc2_idle_no_process_table", "truncated_a2_no_process_rows"])
def test_no_word_of_processes_is_not_no_process(name: str):
    assert npu_smi.parse(sample(f"npu-smi_info_{name}")).processes is None


def test_a_driver_that_is_half_installed():
    assert npu_smi.parse(sample("npu-smi_info_a2_driver_incomplete_trailer")).incomplete
    assert not npu_smi.parse(sample("npu-smi_info_a2_910b3_v23.0.5_idle")).incomplete


@pytest.mark.parametrize("name", ["other_310p3_v24.1.rc2", "other_910prob_v24.1.0", "other_950_head2026"])
def test_other_products_are_refused(name: str):
    with pytest.raises(npu_smi.NpuSmiError, match="Atlas A2"):
        npu_smi.parse(sample(f"npu-smi_info_{name}"))


def test_what_is_cut_off_in_the_middle_of_an_npu_is_refused():
    lines = sample("npu-smi_info_a3_v25.2.1_idle").splitlines()
    with pytest.raises(npu_smi.NpuSmiError, match="in the middle"):
        npu_smi.parse("\n".join(lines[:7]))
    with pytest.raises(npu_smi.NpuSmiError, match="printed nothing"):
        npu_smi.parse("")
    with pytest.raises(npu_smi.NpuSmiError, match="There is no NPU card"):
        npu_smi.parse(sample("npu-smi_error_no_card"))
    with pytest.raises(npu_smi.NpuSmiError, match="cannot be read"):
        npu_smi.parse("\n".join(lines).replace("3130 / 65536", "nonsense    "))


@pytest.mark.parametrize("nothing", ["NA", "-", "N/A"])
def test_an_npu_that_has_dropped_out_does_not_hide_the_others(nothing: str):
    lines = sample("npu-smi_info_a3_v25.2.1_idle").splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("| 0     2 "))
    lines[place - 1] = lines[place - 1].replace("OK      ", "Critical")
    chip = lines[place].rsplit("|", 3)[0].replace("0000:C5:00.0", nothing)
    lines[place] = f"{chip}| {nothing}           | {nothing}   {nothing} / {nothing}   {nothing} / {nothing} |"
    found = npu_smi.parse("\n".join(lines)).npus
    assert len(found) == 16
    assert [(one.number, one.used) for one in found if one.health != "OK"] == [(2, 0)]


def test_rows_that_something_indented():
    text = "\r\n".join(f"  {line}" for line in sample("npu-smi_info_a3_v25.2.1_idle").splitlines())
    assert len(npu_smi.parse(text).npus) == 16


def test_a_table_is_not_the_reason_of_a_bad_end(tmp_path):
    (tmp_path / "npu-smi").touch(0o755)
    text = sample("npu-smi_info_a3_v25.2.1_idle")

    def said(status: int, out: str, err: str) -> str:
        return npu_smi.look(lambda argv, _limit: Answer(status, out, err), search=str(tmp_path))["error"]

    assert said(1, text, "") == "it ended with exit status 1"
    assert said(1, text, "a library is missing") == "a library is missing"
    assert said(0, sample("npu-smi_error_8005_old_ret4_rc187"), "").startswith("dcmi module initialize failed")


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("npu-smi_error_8005_rc187", 187, ("dcmi module initialize failed. ret is -8005", "HwHiAiUser", "not loaded")),
        ("npu-smi_error_8005_old_ret4_rc187", 187, ("dcmi module", "not loaded")),
        ("npu-smi_error_8005_model_spelling_rc187", 187, ("dcmi model", "not loaded")),
        ("npu-smi_error_9005_board_type_rc211", 211, ("npu get board type failed. ret is -9005",)),
        ("npu-smi_error_failed_query", 1, ("-8206",)),
        ("npu-smi_error_permission_rc126.stderr", 126, ("Permission denied",)),
        ("npu-smi_error_libdcmi_rc127.stderr", 127, ("libdcmi.so",)),
    ],
)
def test_errors_in_words(tmp_path, name: str, status: int, said: tuple[str, ...]):
    (tmp_path / "npu-smi").touch(0o755)
    text = sample(name)
    out, err = ("", text) if "stderr" in name else (text, "")
    found = npu_smi.look(lambda argv, _limit: Answer(status, out, err), search=str(tmp_path))
    assert all(part in found["error"] for part in said), found
    assert found["npus"] == []


def test_a_driver_in_use_elsewhere():
    told = npu_smi.explain(Answer(172, "dcmi model initialized failed, because the device is used. ret is -8020\n", ""))
    assert "by another container" in told


def test_a_tool_that_is_missing_is_no_error(tmp_path):
    found = npu_smi.look(search=str(tmp_path))
    assert (found["path"], found["error"]) == (None, "")


def test_the_unit_of_a_process(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "npu-smi").touch(0o755)
    (tmp_path / "proc" / "60777").mkdir(parents=True)
    (tmp_path / "proc" / "60777" / "cgroup").write_text("0::/system.slice/sglang-prefill.service\n")
    text = sample("npu-smi_info_a2_910b3_v25.2.1_one_npu_busy")
    found = npu_smi.look(
        lambda argv, _limit: Answer(0, text, ""), search=str(tmp_path / "bin"), proc=str(tmp_path / "proc")
    )
    assert [one["unit"] for one in found["processes"]] == ["sglang-prefill"]
