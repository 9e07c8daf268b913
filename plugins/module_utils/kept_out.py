# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that would redirect or slow down a service, or give it other NPUs, wherever a host sets them."""

from __future__ import annotations

PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
"""Of every service: its traffic stays in the cluster."""

OF_ENGINES = (*PROXIES, "RANK_TABLE_FILE", "HOST_IP", "HCCL_IF_IP", "ASCEND_RT_VISIBLE_DEVICES")
"""Of engines: what they are for is derived. The last takes NPUs away and renumbers the others, in which --base-gpu-id
would be counted."""

OF_HOSTS = (*OF_ENGINES, "ASCEND_LAUNCH_BLOCKING")
"""What a host's defaults are looked through for: the last one makes every launch of a kernel wait for its end."""

OF_UNITS = (*OF_HOSTS, "ftp_proxy", "FTP_PROXY", "no_proxy", "NO_PROXY")
"""What systemd takes away before anything of ours runs."""
