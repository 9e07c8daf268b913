# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page in headless Chromium, and what it looks like there."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
LOOK = Path(__file__).with_name("look.js")
# Nothing that a page asks for is ever found: it must not ask.
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND"


class Browser:
    """Loads pages. theme: `dark` or `light`, as the reader's system has it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def command(self, theme: str, width: int, *more: str) -> list[str]:
        scheme = f"--blink-settings=preferredColorScheme={0 if theme == 'dark' else 1}"
        return [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", OFFLINE, scheme),
            *("--disable-background-networking", "--no-first-run", f"--user-data-dir={self.directory / 'profile'}"),
            *(f"--window-size={width},900", "--enable-logging=stderr", "--virtual-time-budget=2000", *more),
        ]

    def look(self, page: str, theme: str = "light", width: int = 1280) -> dict:
        """What look.js saw; AssertionError where the browser had something to complain about."""
        catch = "<script>window.sawErrors=[];addEventListener('error',(e)=>sawErrors.push(String(e.message)))</script>"
        text = page.replace("<head>", f"<head>{catch}").replace(
            "</body>", f"<script>{LOOK.read_text()}</script></body>"
        )
        assert text.count("<script") == 2, "the page has scripts of its own"
        path = self.directory / "page.html"
        path.write_text(text)
        done = subprocess.run(
            self.command(theme, width, "--dump-dom", path.as_uri()),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert ":CONSOLE(" not in done.stderr, done.stderr
        found = re.search(r'<script type="application/json" id="saw">(.*?)</script>', done.stdout, re.DOTALL)
        assert found, done.stdout[-2000:]
        return json.loads(html.unescape(found[1]))


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Browser:
    assert CHROMIUM, "no Chromium here; `make browser` installs it"
    return Browser(tmp_path_factory.mktemp("browser"))
