# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a recipe page of SGLang's Ascend documentation to profiles: the importer's passes, each a pure function.

page (text) -> recipes (titles, facts, shell blocks) -> what the shell starts on each host -> profile, with notes.
"""
