#!/usr/bin/env bash
# Validates documents for action.yml, which says what the variables mean.
set -uo pipefail
shopt -s globstar nullglob

# conclude LEVEL RESULT CODE TEXT ends the step, and tells people and later steps how.
conclude() {
    {
        echo "result=$2"
        echo "exit-code=$3"
    } >>"$GITHUB_OUTPUT"
    if [ -n "$4" ]; then
        echo "::$1 title=SimpleValidations::$4"
        printf '\n**%s** %s\n' "$2" "$4" >>"$GITHUB_STEP_SUMMARY"
    fi
    [ "$1" = error ] && exit "$3"
    exit 0
}

# conclude_by CODE says what an exit code of the command means. Only 1 is about a document.
conclude_by() {
    local again="To re-run this job finds the same runs and is not charged again."
    case $1 in
    0) conclude notice passed 0 "" ;;
    1) conclude error failed 1 "" ;;
    2) conclude error error 2 "The action is used wrongly, or a document was refused; the log says why. $again" ;;
    3) conclude error error 3 "A document could not be checked to the end, which says nothing about the document. \
Give another key-prefix to start a new run." ;;
    4)
        local level=error
        [ "$ON_SLOW" = pass ] && level=warning
        conclude "$level" slow 4 "A run was still going on after $TIMEOUT, which says nothing about the document. $again"
        ;;
    5) conclude error error 5 "The token is not known to the service, or may not start runs." ;;
    6) conclude error error 6 "The quota is used up, or there were too many requests. $again" ;;
    7) conclude error error 7 "The service did not answer, which says nothing about the document. $again" ;;
    *) conclude error error "$1" "The command ended with exit code $1." ;;
    esac
}

misused() {
    conclude error error 2 "$1"
}

case $ON_SLOW in fail | pass) ;; *) misused "on-slow is fail or pass" ;; esac
[ -n "$WORKFLOW" ] || [ -n "$WORKFLOW_FILE" ] || misused "name a workflow or a workflow-file"
[ -z "$WORKFLOW" ] || [ -z "$WORKFLOW_FILE" ] || misused "name a workflow or a workflow-file, not both"

files=()
while IFS= read -r line; do
    [ -n "$line" ] || continue
    if [ -e "$line" ]; then
        files+=("$line")
        continue
    fi
    IFS='' # Only patterns are expanded, blanks are part of a name.
    # shellcheck disable=SC2206
    found=($line)
    unset IFS
    [ ${#found[@]} -gt 0 ] || misused "there is no file ${line//[^[:print:]]/?}"
    files+=("${found[@]}")
done <<<"$FILES"
[ ${#files[@]} -gt 0 ] || misused "name the files"

common=()
[ -z "$CONTENT_TYPE" ] || common+=(--content-type "$CONTENT_TYPE")
reported=(--format "$FORMAT" --fail-on "$FAIL_ON")
while IFS= read -r line; do
    [ -z "$line" ] || reported+=(--output "$line")
done <<<"$REPORTS"

if [ -n "$WORKFLOW_FILE" ]; then
    "$BINARY" check --workflow "$WORKFLOW_FILE" "${common[@]}" "${reported[@]}" -- "${files[@]}"
    conclude_by $?
fi

common+=(--workflow "$WORKFLOW" --key-prefix "$KEY_PREFIX")
[ -z "$WORKFLOW_VERSION" ] || common+=(--workflow-version "$WORKFLOW_VERSION")

# All runs are started before the first is waited for. The second command finds them by their keys and starts none.
ids=$("$BINARY" run --no-wait "${common[@]}" -- "${files[@]}")
code=$?
{
    echo "run-ids<<SIMPLEVALIDATIONS"
    echo "$ids" | tr -cd "0-9a-f\n-"
    echo "SIMPLEVALIDATIONS"
} >>"$GITHUB_OUTPUT"
[ "$code" = 0 ] || conclude_by "$code"
"$BINARY" run "${common[@]}" --timeout "$TIMEOUT" "${reported[@]}" -- "${files[@]}"
conclude_by $?
