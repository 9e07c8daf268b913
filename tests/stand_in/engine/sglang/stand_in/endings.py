# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the process ends: by SIGKILL to itself nearly always (status 137), after a good stop too."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from sglang.stand_in import log, texts, wire
from sglang.stand_in.engine import CRASHING, DRAINING


class Endings:
    """The ends of one process. `engine` is set once there is one; `group` is the instance's."""

    def __init__(self, settings, knobs, group):
        self.settings = settings
        self.knobs = knobs
        self.group = group
        self.engine = None
        self._is_dying = threading.Lock()

    def handle_signals(self):
        """From now on SIGTERM drains; before, it ends the process as it ends any."""
        signal.signal(signal.SIGTERM, lambda *_: self._on_term())
        signal.signal(signal.SIGQUIT, lambda *_: self.of_child(None))

    def kill(self, after=0.0, status=137):
        """End the process: by SIGKILL to itself, as the real one does, or with a status."""
        time.sleep(after)
        if status == 137:
            number = os.getpid()
            log.line(f"kill_process_tree called: parent_pid={number}, include_parent=True, pid={number}")
            os.kill(number, signal.SIGKILL)
            threading.Event().wait()
        sys.stderr.flush()
        os._exit(status)

    def of_child(self, text):
        """A scheduler process has died, of what it says (None: it has said it already)."""
        if text is not None:
            log.rank(texts.scheduler_exception(text))
        log.line(texts.SIGQUIT)
        self.kill(0.1)

    def of_peer(self, rank, said_so):
        """Another node of the instance has gone: at once where it said so, else after what diagnostics take."""
        if not self._is_dying.acquire(blocking=False):
            return
        if said_so:
            self.of_child(None)
        log.rank(texts.scheduler_exception(texts.peer_gone(self.settings.dist_init[0])))
        if self.engine:
            self.engine.state = CRASHING
        for line in texts.CRASH_DIAGNOSTICS:
            log.line(line)
        time.sleep(self.knobs.seconds("peer_death_seconds"))
        log.line("No live scheduler processes found; skipping py-spy and CUDA coredump.")
        self.kill()

    def of_request(self):
        """One request has killed the scheduler: the port stays, nobody answers, and after a minute the process goes.

        Never returns to the request that did it.
        """
        if self._is_dying.acquire(blocking=False):
            self.engine.state = CRASHING
            wire.thread(self._crash_slowly, "crash")
        threading.Event().wait()

    def _crash_slowly(self):
        seconds = self.knobs.seconds("crash_seconds")
        log.rank(texts.scheduler_exception(texts.NO_HOST))
        for line in texts.CRASH_DIAGNOSTICS:
            log.line(line)
        time.sleep(min(5.0, seconds))
        log.line(f"Pyspy failed (py-spy dump --native --pid {os.getpid()}). Error: /bin/sh: 1: py-spy: not found")
        log.line("Waiting 60.0 seconds for CUDA coredumps before exiting.")
        time.sleep(max(0.0, seconds - 5.0))
        self.kill()

    def _on_term(self):
        if self.settings.rank:
            wire.thread(self.kill, "term")
            return
        log.line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        if self.engine.state not in (DRAINING, CRASHING):
            self.engine.state = DRAINING
            wire.thread(self._drain, "drain")

    def _drain(self):
        # The engine looks every five seconds, whatever comes: when SIGTERM does, a part of them has gone by.
        pause = self.knobs.seconds("drain_poll_seconds")
        while True:
            time.sleep(pause)
            remaining = self.engine.remaining()
            log.line(
                f"Gracefully exiting... Remaining number of requests {len(remaining)}. "
                f"Remaining requests remaining_rids={remaining}."
            )
            if not remaining:
                break
            pause = self.knobs.seconds("drain_repeat_seconds")
        self.group.say_goodbye()
        status = self.knobs.get("exit_code_on_term")
        if status is None:
            status = 0 if self.settings.is_newer else 137
        self.kill(status=status)

    def on_phase(self, name):
        """Fail or hang here, where a knob says so."""
        if self.knobs.get("crash_at") == name:
            time.sleep(self.knobs.seconds("crash_delay_seconds"))
            told = lines(self.knobs.get("crash_line"))
            for line in told:
                log.rank(line)
            status = int(self.knobs.get("crash_status"))
            if status == 137:
                self.of_child(None if told else "RuntimeError: told to fail")
            self.kill(status=status)
        if self.knobs.get("hang_at") == name:
            threading.Event().wait()


def lines(value):
    """A knob that is a line, several, or none."""
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def leave_child():
    """Start a child that outlives its parent: a session of its own, deaf to SIGTERM, with all that the parent holds."""
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()
