# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a benchmark on a host, watched from the controller. See modules/benchmark_run.py."""

from __future__ import annotations

import base64
import contextlib
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking import history, running
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import plain

_PAUSE_SECONDS = 2.0
_OUT_OF_REACH_SECONDS = 40.0
"""How long the host may be out of reach. Shorter than the lease: a benchmark that goes on is one that is watched."""
_LEASE_SECONDS = 60.0
_PIECE_BYTES = 4 * 1024 * 1024


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ansible ends its workers with a signal, at once; here that is an exception, and cleaning up is let be."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}

    def interrupt(_number: int, _frame: object) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class ActionModule(ActionBase):
    """The action behind ascend.sglang.benchmark_run."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Start it, show its progress, and bring home what it measured."""
        result = super().run(tmp, task_vars)
        self._vars = task_vars or {}
        _validation, args = self.validate_argument_spec(
            {
                "plan": {"type": "dict", "required": True},
                "page": {"type": "dict", "required": True},
                "secrets": {"type": "dict", "default": {}, "no_log": True},
                "user": {"type": "str", "default": "root"},
                "timeout": {"type": "float", "default": 7200.0},
                "details": {"type": "bool", "default": True},
                "dest": {"type": "path", "required": True},
            }
        )
        self._host = str(self._vars["inventory_hostname"])
        result["changed"] = False
        if self._task.check_mode:
            return {**result, "skipped": True, "msg": "check mode measures nothing"}
        self._plan: Any = plain(args["plan"])
        benchmark = self._plan["benchmark"]
        if not benchmark:
            return {**result, "failed": True, "msg": f"the profile {self._plan['profile']} has no benchmark"}
        now = datetime.now(timezone.utc)
        try:
            # Relative to where the user stands, not to the playbook. Before anything runs: it must be possible.
            self._directory = history.directory(Path(args["dest"]).absolute(), self._plan, now)
            history.begin(self._directory, self._plan, plain(args["page"]), now)
        except OSError as problem:
            what = f"the result cannot be kept in {args['dest']}: {problem.strerror or problem}"
            return {
                **result,
                "failed": True,
                "msg": f"{what}. Name a directory that you may write (sglang_benchmark_dir)",
            }
        started = self._unit(
            "started",
            argv=benchmark["argv"],
            env=benchmark.get("env", {}),
            unset=benchmark.get("unset", []),
            secrets=args["secrets"],
            user=args["user"],
            deadline=args["timeout"],
            lease=_LEASE_SECONDS,
            details=args["details"],
        )
        if started.get("failed") or started.get("unreachable"):
            shutil.rmtree(self._directory, ignore_errors=True)
            return {**result, **started}
        with _interruptible():
            try:
                return {**result, **self._watch(args)}
            except BaseException:
                # Interrupted, out of reach, or out of its task's time: nothing was measured.
                shutil.rmtree(self._directory, ignore_errors=True)
                raise
            finally:
                # Also when somebody interrupts it. Where even this does not get through, it ends by itself.
                self._unit("absent")

    def _watch(self, args: dict[str, Any]) -> dict[str, Any]:
        # Said now: of an interrupted run Ansible shows nothing any more that its workers say.
        Display().display(f"{self._host}: the benchmark has started; interrupting the playbook ends it there, too")
        progress = running.Progress()
        while True:
            look = self._look()
            if look.get("failed") or look.get("unreachable"):
                return look
            line = progress.line(look, time.monotonic())
            if line:
                Display().display(f"{self._host}: {line}")
            if look["ended"]:
                return self._collect(look["ended"], args)
            time.sleep(_PAUSE_SECONDS)

    def _collect(self, ended: dict[str, Any], args: dict[str, Any]) -> dict[str, Any]:
        found = self._unit("collected")
        if found.get("failed") or found.get("unreachable"):
            return found
        log = "".join(f"{line}\n" for line in found["log"])
        history.keep(self._directory, result=found["result"], samples=found["samples"], log=log)
        answer = {"ended": ended, "directory": str(self._directory)}
        if found["raw_size"]:
            self._fetch(found["raw_size"])
        problem = running.problem(ended, found, args["timeout"])
        if problem:
            return {**answer, "failed": True, "msg": f"the benchmark on {self._host} {problem}"}
        return {**answer, "seconds": ended["seconds"]}

    def _fetch(self, size: int) -> None:
        """The whole result file, packed, piece by piece: with each request's times it may be large."""
        with (self._directory / history.RAW).open("wb") as stream:
            for offset in range(0, size, _PIECE_BYTES):
                piece = self._unit("read", offset=offset, size=_PIECE_BYTES)
                stream.write(base64.b64decode(piece["content"]))

    def _look(self) -> dict[str, Any]:
        """One look, again while the host is out of reach for a moment."""
        lost: float | None = None
        while True:
            try:
                return self._unit("looked")
            except AnsibleConnectionFailure:
                now = time.monotonic()
                lost = lost or now
                if now - lost > _OUT_OF_REACH_SECONDS:
                    raise
                Display().warning(f"{self._host} cannot be reached at the moment; its benchmark is still waited for")
                time.sleep(_PAUSE_SECONDS)

    def _unit(self, state: str, **more: Any) -> dict[str, Any]:
        return dict(
            self._execute_module(
                module_name="ascend.sglang.benchmark_unit",
                module_args={"state": state, **more},
                task_vars=self._vars,
            )
        )
