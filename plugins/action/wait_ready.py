# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits on the controller, with short looks at the host, until its services are ready. See modules/wait_ready.py."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations import waiting

_OUT_OF_REACH_SECONDS = 60.0
"""How long a host may be out of reach while it loads: a short cut of the network ends no wait of half an hour."""


class ActionModule(ActionBase):
    """The action behind ascend.sglang.wait_ready."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        task_vars = task_vars or {}
        _validation, args = self.validate_argument_spec(
            {
                "services": {"type": "list", "elements": "dict", "required": True},
                "roles": {"type": "list", "elements": "str", "default": []},
                "timeout": {"type": "float", "default": 3600.0},
                "log_lines": {"type": "int", "default": 20},
                "rendezvous": {"type": "path"},
                "advice": {"type": "str", "default": ""},
            }
        )
        host = str(task_vars["inventory_hostname"])
        services = [
            one
            for one in args["services"]
            if one.get("host") == host and (not args["roles"] or one.get("role") in args["roles"])
        ]
        result.update(changed=False, services=[], seconds=0.0)
        if not services:
            return {**result, "msg": "there is nothing to wait for on this host"}
        if self._task.check_mode:
            return {**result, "skipped": True, "msg": "check mode started nothing, so there is nothing to wait for"}
        # All hosts of one task share it; ansible removes the directory at the end.
        default = Path(constants.DEFAULT_LOCAL_TMP) / f"ascend-sglang-wait-{self._task._uuid}"
        meeting = waiting.Rendezvous(Path(args["rendezvous"]) if args["rendezvous"] else default)
        waited = _Wait(self, host, services, args, meeting, task_vars).run()
        if waited.get("failed") and args["advice"]:
            waited["msg"] = f"{waited.get('msg', '')}\n{args['advice']}"
        return {**result, **waited}


class _Wait:
    """One host's wait."""

    def __init__(
        self,
        action: ActionModule,
        host: str,
        services: list[dict[str, Any]],
        args: dict[str, Any],
        meeting: waiting.Rendezvous,
        task_vars: dict[str, Any],
    ) -> None:
        self._action = action
        self._host = host
        self._services = services
        self._args = args
        self._meeting = meeting
        self._task_vars = task_vars
        self._began = time.monotonic()
        self._progress = waiting.Progress()
        self._restarts: dict[str, int] = {}
        self._board = waiting.Board(meeting.directory / "board")
        self._terminal = on_terminal()

    def run(self) -> dict[str, Any]:
        """Wait, and leave the screen to what Ansible says of the end."""
        answer: dict[str, Any] = {}
        try:
            answer = self._wait()
        finally:
            self._board.put(self._host, answer.get("services", []), self._seconds(), done=True)
            self._clear()
        return answer

    def _wait(self) -> dict[str, Any]:
        limit = float(self._args["timeout"])
        heads = waiting.heads(self._services, self._host)
        for pause in waiting.pauses():
            look = self._look(limit)
            if look.get("failed") or look.get("unreachable"):
                return look
            statuses = look["services"]
            answer = {"services": statuses, "seconds": round(self._seconds(), 1)}
            dead = [one for one in statuses if one["dead"]]
            if dead:
                self._meeting.report(self._host, waiting.short_death(self._host, dead[0]))
                return {**answer, "failed": True, "msg": "\n".join(waiting.death(self._host, one) for one in dead)}
            self._tell(statuses)
            pending = [one for one in statuses if not one["ready"]]
            elsewhere = self._meeting.elsewhere(self._host)
            late = self._seconds() + pause > limit
            # A rank above 0 is ready before rank 0 warms them all up, which is when it may yet die.
            if not pending and (elsewhere or late or not self._board.wait(heads)):
                return {**answer, "msg": f"ready after {waiting.duration(self._seconds())}"}
            if elsewhere:
                phases = ", ".join(f"{one['unit']} ({one['phase']})" for one in pending)
                story = f"stopped waiting for {phases} because {elsewhere[1]}; see what is said of {elsewhere[0]}"
                return {**answer, "failed": True, "msg": story}
            if late:
                return {**answer, "failed": True, "msg": waiting.too_late(self._host, pending, limit)}
            time.sleep(pause)
        raise AssertionError("pauses never end")

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _look(self, limit: float) -> dict[str, Any]:
        """One call of service_status, again while the host is out of reach for a moment."""
        lost = None
        while True:
            try:
                look = self._action._execute_module(
                    module_name="ascend.sglang.service_status",
                    module_args={
                        "services": self._services,
                        "restarts": self._restarts,
                        "log_lines": self._args["log_lines"],
                    },
                    task_vars=self._task_vars,
                )
            except AnsibleConnectionFailure:
                now = time.monotonic()
                lost = lost or now
                if now - lost > _OUT_OF_REACH_SECONDS or self._seconds() > limit:
                    raise
                self._clear()
                Display().warning(f"{self._host} cannot be reached at the moment; its services are still waited for")
                time.sleep(waiting.LONGEST_PAUSE)
                continue
            for one in look.get("services", []):
                self._restarts.setdefault(one["unit"], one["restarts"])
            return look

    def _tell(self, statuses: list[dict[str, Any]]) -> None:
        self._board.put(self._host, statuses, self._seconds(), done=False)
        for one in statuses:
            line = self._progress.line(one["unit"], one["phase"], self._seconds())
            if line:
                # Where the table is drawn, only Ansible's own log (log_path) gets the lines.
                Display().display(f"{self._host}: {line}", log_only=self._terminal)
        if self._terminal and self._board.draws(self._host, time.time()):
            Display().display(self._board.drawing(Display().columns or 79), screen_only=True, newline=False)

    def _clear(self) -> None:
        if self._terminal:
            self._board.leave()
            Display().display(waiting.CLEAR, screen_only=True, newline=False)


def on_terminal(proc: str = "/proc") -> bool:
    """Whether what Ansible displays goes to a terminal that can redraw.

    A worker of ansible-core 2.19 and later has no stdout of its own: its parent's counts.
    """
    if os.environ.get("TERM", "dumb") == "dumb" or os.environ.get("CI"):
        return False
    if os.isatty(1):
        return True
    try:
        return os.readlink(f"{proc}/{os.getppid()}/fd/1").startswith(("/dev/pts/", "/dev/tty"))
    except OSError:
        return False
