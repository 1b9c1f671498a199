#!/usr/bin/env bash
# The job of `headspace notify` as people write it: bash, jq and curl. Event name ▶ slug, fields added, POST with a
# deadline, spool if that fails.
payload=$(cat)
event=$(jq -r '.hook_event_name // empty' <<<"$payload")
session=$(jq -r '.session_id // empty' <<<"$payload")
[ -n "$event" ] && [ -n "$session" ] || exit 0
slug=$(sed -E 's/([a-z0-9])([A-Z])/\1-\2/g' <<<"$event" | tr '[:upper:]' '[:lower:]')
start=$(sed 's/.*) //' "/proc/$CLAUDE_PID/stat" 2>/dev/null | cut -d' ' -f20)
body=$(jq -c \
    --arg tmux_session "$CLAUDE_HEADSPACE_TMUX_SESSION" --arg tmux_pane "$TMUX_PANE" --argjson claude_pid "${CLAUDE_PID:-null}" \
    --argjson claude_pid_start "${start:-null}" --arg entrypoint "$CLAUDE_CODE_ENTRYPOINT" --arg host "$(hostname)" \
    --arg sent_at "$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)" --arg delivery_id "$(cat /proc/sys/kernel/random/uuid)" \
    '. + ($ARGS.named | with_entries(select(.value != "" and .value != null)))' <<<"$payload")
curl -s -o /dev/null --max-time 2 -H 'content-type: application/json' --data-binary @- \
    "$BENCH_URL/hook/$slug" <<<"$body" ||
    printf '%s\n' "$body" >>"$XDG_STATE_HOME/spool.jsonl"
exit 0
