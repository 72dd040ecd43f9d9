#!/usr/bin/env bash
# Runs go-zookeeper/zk's own tests, unmodified, against our ensemble: they start the servers themselves, by a zkServer.sh in the folder
# that ZOOKEEPER_BIN_PATH names. The last line counts. TWINLOG_BIN names the program (default: ../../bin/twinlog).
set -euo pipefail
cd "$(dirname "$0")"
program=$(realpath "${TWINLOG_BIN:-../../bin/twinlog}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/zkServer.sh" <<SCRIPT
#!/bin/sh
# zkServer.sh start-foreground CONFIG; exec, so that the test's kill hits the server
exec "$program" node --role ensemble --zoo-cfg "\$2"
SCRIPT
chmod +x "$work/zkServer.sh"
wanted=47
status=0
ZOOKEEPER_BIN_PATH=$work ZK_VERSION=3.8 go test -count=1 -timeout 10m -v github.com/go-zookeeper/zk >"$work/output" 2>&1 || status=$?
passed=$(grep -c '^--- PASS: ' "$work/output" || true)
if [ "$passed" -ne "$wanted" ] || [ "$status" -ne 0 ]; then
  grep -E '^--- (FAIL|SKIP)|^ +[a-z_]+\.go:[0-9]+:|^panic:' "$work/output" | head -60
fi
echo "go-zookeeper/zk's own tests: $passed of $wanted pass"
[ "$passed" -eq "$wanted" ] && [ "$status" -eq 0 ]
