#!/usr/bin/env bash
# The classroom in containers: builds the image's final stage from bin/twinlog (base images are not needed), starts docker-compose.yml
# with it, and lets a client outside produce and consume in both modes and kill a container. Uses the Docker daemon that is there; where
# there is none, starts one of its own as root, and ends it.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
project=twinlogtest
daemon=

go test -c -tags compose -o "$work/compose.test" .

compose() { docker-compose -p "$project" "$@"; }
command -v docker-compose >/dev/null || compose() { docker compose -p "$project" "$@"; }

finish() {
  status=$?
  if [ "$status" -ne 0 ]; then
    compose logs --no-color --tail 60 || true
    [ -z "$daemon" ] || tail -20 "$work/dockerd.log"
  fi
  compose down -v --timeout 20 >"$work/down.log" 2>&1 || cat "$work/down.log"
  if [ -n "$daemon" ]; then
    kill "$daemon" && wait "$daemon" || true
  fi
  rm -rf "$work" || true
  exit "$status"
}

if ! docker info >/dev/null 2>&1; then
  if [ "$(id -u)" -ne 0 ] || ! command -v dockerd >/dev/null; then
    echo "test-compose: no Docker daemon answers; start one, or run this as root where dockerd is installed" >&2
    exit 1
  fi
  export DOCKER_HOST="unix://$work/docker.sock"
  dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/dockerd.pid" -H "$DOCKER_HOST" >"$work/dockerd.log" 2>&1 &
  daemon=$!
  trap finish EXIT
  for _ in $(seq 100); do
    docker info >/dev/null 2>&1 && break
    kill -0 "$daemon" 2>/dev/null || { echo "test-compose: dockerd ended" >&2; exit 1; }
    sleep 0.2
  done
fi
trap finish EXIT

# A loopback address of its own keeps the published ports apart from a classroom that runs on this machine.
export TWINLOG_HOST=127.0.0.2 TWINLOG_BIND=127.0.0.2 TWINLOG_TOKEN=compose-test-token COMPOSE_PROJECT="$project"

DOCKER_BUILDKIT=0 docker build --quiet --target prebuilt -t twinlog . # the plain builder: nothing else to install
docker image inspect twinlog --format 'the image has {{.Size}} bytes'
step() { printf '%s %s\n' "$(date +%T)" "$*"; }
step starting
compose up -d --no-build
step started
"$work/compose.test" -test.timeout 5m -test.v -test.run '^TestCompose$'
