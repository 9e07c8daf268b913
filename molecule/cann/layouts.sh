#!/usr/bin/env bash
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Turn the CANN 9 that a test host comes with into the installation of one of this scenario's hosts.
#   layouts.sh HOST
set -euo pipefail
ascend=/usr/local/Ascend

# move FROM TO: an installation, with the paths that its script has in it
move() {
  mkdir -p "$(dirname "$2")"
  mv "$1" "$2"
  sed -i "s|^_cann_home=.*|_cann_home='$2'|" "$2/set_env.sh"
}

case $1 in
  p1)
    rm -rf "$ascend/cann" "$ascend/ascend-toolkit" /etc/Ascend
    move "$ascend/cann-9.0.0" "$ascend/ascend-toolkit/8.2.RC1"
    ln -s 8.2.RC1 "$ascend/ascend-toolkit/latest"
    mv "$ascend/ascend-toolkit/8.2.RC1/set_env.sh" "$ascend/ascend-toolkit/set_env.sh"
    sed -i "s|^_cann_home=.*|_cann_home=$ascend/ascend-toolkit/latest|" "$ascend/ascend-toolkit/set_env.sh"
    sed -i 's/^version=.*/version=8.2.RC1/' "$ascend"/ascend-toolkit/8.2.RC1/*-linux/ascend_toolkit_install.info
    ;;
  p2)
    # What must not reach a service, from everywhere where a host can have it.
    printf 'http_proxy=http://127.0.0.1:9\nHTTPS_PROXY=http://127.0.0.1:9\nno_proxy=203.0.113.0/24\n' >>/etc/environment
    printf 'export all_proxy=http://127.0.0.1:9 RANK_TABLE_FILE=/nowhere.json\n' >/etc/profile.d/proxy.sh
    mkdir -p /etc/systemd/system.conf.d
    printf '[Manager]\nDefaultEnvironment=HOST_IP=192.0.2.9 ASCEND_LAUNCH_BLOCKING=1 HTTP_PROXY=http://127.0.0.1:9\n' \
      >/etc/systemd/system.conf.d/site.conf
    systemctl daemon-reexec
    ;;
  d1)
    rm -rf "$ascend/cann" "$ascend/cann-9.0.0" "$ascend/ascend-toolkit" /etc/Ascend
    mkdir "$ascend/ascend-toolkit"
    ln -s 8.3.RC1 "$ascend/ascend-toolkit/latest"
    echo "export ASCEND_HOME_PATH=$ascend/ascend-toolkit/latest" >"$ascend/ascend-toolkit/set_env.sh"
    ;;
  d2)
    rm -rf "$ascend/cann" "$ascend/ascend-toolkit" /etc/Ascend
    move "$ascend/cann-9.0.0" '/opt/my ascend/cann'
    mv "$ascend/nnal" '/opt/my ascend/nnal'
    mkdir -p '/opt/the engine/bin'
    # The system's python3 has no torch; the engine's was built with the old ABI.
    cat >'/opt/the engine/bin/python3' <<'PYTHON'
#!/bin/sh
case "$*" in *compiled_with_cxx11_abi*) echo 0 ;; *) exec /usr/bin/python3 "$@" ;; esac
PYTHON
    chmod +x '/opt/the engine/bin/python3'
    ;;
esac
