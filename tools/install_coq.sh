#!/bin/sh
# Installs what `make formal` needs, on Debian and Ubuntu: Coq, Flocq, and the OCaml compiler.
set -eu
export DEBIAN_FRONTEND=noninteractive
run=""
[ "$(id -u)" = 0 ] || run=sudo
$run apt-get update
$run apt-get install --yes --no-install-recommends coq libcoq-flocq ocaml-nox make
