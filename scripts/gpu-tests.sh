#!/usr/bin/env bash
# Every test and measurement that needs a device, in one go; the table comes last. Builds nothing:
# takes the binary given, target/release/tilefoundry otherwise. Answers and logs go to the folder
# given second, target/gpu otherwise.
set -uo pipefail
cd "$(dirname "$0")/.."

binary=$(realpath "${1:-target/release/tilefoundry}")
out=${2:-target/gpu}
mkdir -p "$out"
for list in tests/kernels/cases.txt tests/accuracy/checks.txt tests/accuracy/commands.txt; do
    [ -s "$list" ] || { echo "$list is missing or empty"; exit 1; }
done
start=$SECONDS
failed=0
rows=()

# expect NAME STATUS TEXT COMMAND..: runs it, and holds status and text against what is expected
expect() {
    local name=$1 status=$2 text=$3
    shift 3
    local said got
    said=$("$binary" "$@" 2>&1)
    got=$?
    printf '$ tilefoundry %s\n%s\n[%s]\n\n' "$*" "$said" "$got" >>"$out/log.txt"
    if [ "$got" = "$status" ] && [[ $said == *"$text"* ]]; then
        rows+=("ok    $name")
    else
        failed=$((failed + 1))
        rows+=("FAIL  $name: exit status $got, wanted $status and: $text")
        printf 'FAIL tilefoundry %s\n%s\n' "$*" "$said"
    fi
}

: >"$out/log.txt"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader | tee "$out/device.txt"

# planted faults and every kind of launch
while IFS='|' read -r status args text; do
    case $status in '#'* | '') continue ;; esac
    # shellcheck disable=SC2086
    expect "faults $args" "$status" "$text" check "tests/kernels/faults.tf:${args%% *}" \
        --inputs random:1 --weights random:1 ${args#* }
done <tests/kernels/cases.txt
for i in 1 2 3 4 5 6 7 8 9 10; do
    expect "race, run $i of 10" 1 FAIL check tests/kernels/faults.tf:RowSumsRace \
        --inputs "random:$i" --dim rows=100 --fn rel_l2 --max 1e-6
done

# the twins of the examples
while IFS='|' read -r twin args; do
    case $twin in '#'* | '') continue ;; esac
    # shellcheck disable=SC2086
    expect "check $twin $args" 0 PASS check "$twin" --inputs random:1 --weights random:1 $args
done <tests/accuracy/checks.txt

# loops over a twin: the tokens of the evaluator, and planted faults
# same MODULE TWIN ARG..: both give the same tokens
same() {
    local file=$1 module=$2 twin=$3
    shift 3
    local want got
    want=$("$binary" generate "$file:$module" "$@" | grep '^ids: ')
    got=$("$binary" generate "$file:$twin" "$@" 2>&1)
    printf '$ tilefoundry generate %s %s\n%s\n\n' "$file:$twin" "$*" "$got" >>"$out/log.txt"
    if [ -n "$want" ] && [[ $got == *"$want"* ]]; then
        rows+=("ok    generate $file:$twin $*")
    else
        failed=$((failed + 1))
        rows+=("FAIL  generate $file:$twin $*: the evaluator has $want")
        printf 'FAIL generate %s\n%s\n' "$file:$twin" "$got"
    fi
}
for prompt in 3 5,0,96; do
    same tests/kernels/lm.tf Lm LmRight --prompt $prompt --tokens 62
done
same tests/kernels/lm.tf Lm LmLate --prompt 3 --tokens 8
same tests/kernels/lm.tf Lm LmWritesPast --prompt 3 --tokens 8
expect "loop writes past" 1 'FAIL `c`: 128 B were written outside' \
    generate tests/kernels/lm.tf:LmWritesPast --prompt 3 --tokens 64
expect "loop reads far" 1 'FAIL running step 2: ' \
    generate tests/kernels/lm.tf:LmReadsFar --prompt 0,5 --tokens 3
expect "loop gives no token" 1 '`token` takes 0..=96' \
    generate tests/kernels/lm.tf:LmGivesNoToken --prompt 0,5 --tokens 3

# what the device sustains
expect "target calibrate" 0 wrote target calibrate nvidia.h200_sxm -o "$out/nvidia.h200_sxm.toml"

# times
: >"$out/times.json"
while read -r args; do
    # shellcheck disable=SC2086
    if "$binary" $args >"$out/one.json" 2>>"$out/log.txt"; then
        cat "$out/one.json" >>"$out/times.json"
        rows+=("time  $(grep -m1 '"time_ns"' "$out/one.json" | tr -dc '0-9.') ns  $args")
    else
        failed=$((failed + 1))
        rows+=("FAIL  $args")
    fi
done <tests/accuracy/commands.txt

printf '%s\n' "${rows[@]}" | tee "$out/table.txt"
printf '%s failed, %s s\n' "$failed" "$((SECONDS - start))" | tee -a "$out/table.txt"
[ "$failed" = 0 ]
