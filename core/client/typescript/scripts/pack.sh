#!/bin/sh
# Builds the package and puts it into a folder: pack.sh FOLDER
set -eu

mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
[ -d node_modules ] || npm ci --ignore-scripts --no-audit --no-fund --silent
npm pack --silent --pack-destination "$folder"
