# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_headspace_global_optspecs
    string join \n h/help V/version
end

function __fish_headspace_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_headspace_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_headspace_using_subcommand
    set -l cmd (__fish_headspace_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c headspace -n "__fish_headspace_needs_command" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_needs_command" -s V -l version -d 'Print version'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "up" -d 'Install the hooks, start the server, print the dashboard\'s address'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "down" -d 'Stop the server that is running in the background'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "status" -d 'Show every agent, the ones that need you first'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "top" -d 'Watch the agents live in the terminal'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "next" -d 'Jump to the agent that has waited longest for you'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "jump" -d 'Jump to an agent\'s terminal pane'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "events" -d 'Show or follow the events, like journalctl'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "show" -d 'Show an agent in full: what it asks, its last output, its changes, and everything known about it'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "explain" -d 'Explain why an agent is in its state'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "export" -d 'Print a session as Markdown or JSON: the conversation and the tool calls in between'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "rename" -d 'Give an agent a name of your own'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "reply" -d 'Send the next prompt to an agent in tmux'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "stop" -d 'Stop what an agent is doing'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "answer" -d 'Answer permissions, questions and plans from anywhere'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "open" -d 'Open the dashboard in the browser'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "install" -d 'Merge headspace\'s hooks into the settings of your coding agents'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "uninstall" -d 'Remove headspace\'s hooks from the settings of your coding agents'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "serve" -d 'Run the server: receive and store events, and show the dashboard'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "notify" -d 'Deliver one hook event (Claude Code calls this)'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "wait" -d 'Wait for an answer to a permission request from anywhere (Claude Code calls this)'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "statusline" -d 'Record context and cost from the status line, then run your own command'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "hooks" -d 'List, check, run and record hooks'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "guard" -d 'Judge tool calls before they run: check, explain, allow, list the rules'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "hub" -d 'Share this machine\'s board with a team, or run the team\'s hub'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "context" -d 'Show which context files a session would get'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "machines" -d 'Show the agents of your other machines on this board'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "relay" -d 'Print this machine\'s board and its changes as JSON lines (another machine\'s server runs this)'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "doctor" -d 'Diagnose why sessions do not show up, and fix it'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "service" -d 'Run the server as a service of your login session'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "rebuild" -d 'Recompute all agent states from the stored events'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "prune" -d 'Delete old events now'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "wake" -d 'Wake an agent with a message, the way `reply` sends a prompt'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "notify-when" -d 'Wait until an agent is done or needs you, then wake another one'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "notify-test" -d 'Send a test alert through every notification channel'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "demo" -d 'Show the dashboard with made-up agents at work'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "completions" -d 'Print shell completions'
complete -c headspace -n "__fish_headspace_using_subcommand up" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand up" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand down" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand status" -l client -d 'Only agents of this client (claude, codex, …)' -r
complete -c headspace -n "__fish_headspace_using_subcommand status" -l json -d 'Print everything as JSON (`version` changes when the meaning of a field does)'
complete -c headspace -n "__fish_headspace_using_subcommand status" -l short -d 'Print the counts only, for prompts and bars: !2 *4 +1'
complete -c headspace -n "__fish_headspace_using_subcommand status" -l tmux -d 'Like --short, in tmux colors'
complete -c headspace -n "__fish_headspace_using_subcommand status" -l waybar -d 'Print one line of JSON for a custom waybar module'
complete -c headspace -n "__fish_headspace_using_subcommand status" -s a -l all -d 'Also show ended agents and headless runs (`claude -p`)'
complete -c headspace -n "__fish_headspace_using_subcommand status" -l hub -d 'Show the team\'s board, from the hub this machine has joined'
complete -c headspace -n "__fish_headspace_using_subcommand status" -s w -l watch -d 'Refresh every second until interrupted'
complete -c headspace -n "__fish_headspace_using_subcommand status" -l exit-code -d 'Exit with 10 if an agent needs you'
complete -c headspace -n "__fish_headspace_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand top" -s a -l all -d 'Also show ended agents and headless runs (`claude -p`)'
complete -c headspace -n "__fish_headspace_using_subcommand top" -l hub -d 'Show the team\'s board, from the hub this machine has joined'
complete -c headspace -n "__fish_headspace_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand next" -l print -d 'Only print which agent that is'
complete -c headspace -n "__fish_headspace_using_subcommand next" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand jump" -l attach -d 'Show it in this terminal: attach to its tmux session (what a jump to another machine runs there)'
complete -c headspace -n "__fish_headspace_using_subcommand jump" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand events" -l agent -d 'The same, as an option' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -l type -d 'Only events of these types: PreToolUse, or pre-tool-use; several with commas' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -l client -d 'Only events of this client (claude, codex, …)' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -l grep -d 'Only events that contain these words' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -l since -d 'Only events of the last 90s, 10m, 2h, 1d' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -s n -l lines -d 'Print at most this many stored events' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -s f -l follow -d 'Keep printing events as they arrive'
complete -c headspace -n "__fish_headspace_using_subcommand events" -l json -d 'Print one JSON object per line'
complete -c headspace -n "__fish_headspace_using_subcommand events" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand show" -l turns -d 'Show this many turns of the conversation, not only the last prompt and answer' -r
complete -c headspace -n "__fish_headspace_using_subcommand show" -l diff -d 'Show all lines of its diffs'
complete -c headspace -n "__fish_headspace_using_subcommand show" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand explain" -l steps -d 'Show at most this many steps' -r
complete -c headspace -n "__fish_headspace_using_subcommand explain" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand explain" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand export" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand rename" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand reply" -l cancel -d 'Cancel a waiting prompt' -r
complete -c headspace -n "__fish_headspace_using_subcommand reply" -l list -d 'List the prompts that are waiting for the agent'
complete -c headspace -n "__fish_headspace_using_subcommand reply" -l yes -d 'Send a text that begins with ! / # or @ without asking'
complete -c headspace -n "__fish_headspace_using_subcommand reply" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand reply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand stop" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand answer" -l ask -d 'Which ask, if the agent has several open' -r
complete -c headspace -n "__fish_headspace_using_subcommand answer" -l config-dir -d 'The client\'s configuration directory, for `on` and `off`; may be repeated' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand answer" -l all -d 'Answer all identical asks at once, after listing them'
complete -c headspace -n "__fish_headspace_using_subcommand answer" -l json -d 'Print JSON, for `status`'
complete -c headspace -n "__fish_headspace_using_subcommand answer" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand open" -l address -d 'Where the phone reaches this machine, if not at its network address: a host name, or the URL of a tunnel' -r
complete -c headspace -n "__fish_headspace_using_subcommand open" -l print -d 'Only print the link'
complete -c headspace -n "__fish_headspace_using_subcommand open" -l phone -d 'Show a QR code that logs a phone in, after asking to open the dashboard to the network'
complete -c headspace -n "__fish_headspace_using_subcommand open" -l off -d 'Undo what --phone changed, and log all browsers out'
complete -c headspace -n "__fish_headspace_using_subcommand open" -l unlock -d 'Unlock the page, so that asks can be answered there (only for a person at a terminal)'
complete -c headspace -n "__fish_headspace_using_subcommand open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l scope -d 'Which settings file' -r -f -a "user\t'All your sessions'
project\t'Everybody who works on this project'
local\t'You, in this project'"
complete -c headspace -n "__fish_headspace_using_subcommand install" -l config-dir -d 'The client\'s configuration directory (default: CLAUDE_CONFIG_DIR or ~/.claude); may be repeated' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand install" -l client -d 'Only this client (default: every client that is found)' -r -f -a "claude\t''
codex\t''
qwen\t''
gemini\t''
copilot\t''
opencode\t''
wave\t''"
complete -c headspace -n "__fish_headspace_using_subcommand install" -l events -d 'Subscribe to these events only (names, separated by commas)' -r
complete -c headspace -n "__fish_headspace_using_subcommand install" -l dry-run -d 'Show what would change, change nothing'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l script -d 'Register notify-headspace.sh instead of the binary'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l create -d 'Create the directories of --config-dir that do not exist'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l guard -d 'Also judge tool calls before they run (see `headspace guard`)'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l statusline -d 'Also read context, cost and model from the status line; your own line is shown as before'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l list -d 'Only list the clients that are found, and which of them have the hooks'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l tmux -d 'Print lines for your tmux.conf and change nothing'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l scope -d 'Which settings file' -r -f -a "user\t'All your sessions'
project\t'Everybody who works on this project'
local\t'You, in this project'"
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l config-dir -d 'The client\'s configuration directory (default: CLAUDE_CONFIG_DIR or ~/.claude); may be repeated' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l client -d 'Only this client (default: every client that is found)' -r -f -a "claude\t''
codex\t''
qwen\t''
gemini\t''
copilot\t''
opencode\t''
wave\t''"
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l dry-run -d 'Show what would change, change nothing'
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l guard -d 'Remove only the guard\'s entry'
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l statusline -d 'Remove only the status line'
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand serve" -l host -d 'Address to listen on; any address but loopback requires the token' -r
complete -c headspace -n "__fish_headspace_using_subcommand serve" -l port -d 'Port to listen on' -r
complete -c headspace -n "__fish_headspace_using_subcommand serve" -l db -d 'Database file' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand notify" -l client -d 'The coding agent that calls, if not Claude Code' -r
complete -c headspace -n "__fish_headspace_using_subcommand notify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand wait" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand statusline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -f -a "list" -d 'List every hook that applies to a project'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -f -a "validate" -d 'Check the settings files for what the client ignores, drops or never runs'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -f -a "run" -d 'Run the hooks of an event as the client would, and show what it would do next'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -f -a "capture" -d 'Record the payloads of a real session, for later --input'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -l project -d 'The project\'s directory' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -l dialect -d 'The client whose settings files and rules apply' -r -f -a "claude\t''
wave\t''"
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -l client -d 'The hook file of another coding agent (codex, copilot, qwen, gemini, opencode)' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -l project -d 'The project\'s directory' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -l dialect -d 'The client whose settings files and rules apply' -r -f -a "claude\t''
wave\t''"
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -l client -d 'The hook file of another coding agent (codex, copilot, qwen, gemini, opencode)' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l tool -d 'The tool, for tool events' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l input -d 'A file with the payload; - reads standard input' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l set -d 'Replace a field of the payload (tool_input.command=ls); may be repeated' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l time -d 'Run the hooks this many times, and show how long each takes (p50, p95)' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l project -d 'The project\'s directory' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l dialect -d 'The client whose settings files and rules apply' -r -f -a "claude\t''
wave\t''"
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from capture" -l event -d 'Record only this event; may be repeated' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from capture" -l record -d 'What the recording hook calls: one payload on standard input'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from capture" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "check" -d 'Judge a PreToolUse payload on standard input'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "explain" -d 'Show how a command is read, which rule applies, and why'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "allow" -d 'Allow a command that the guard refused: once, in this project, or everywhere'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "rules" -d 'List the rules and what each does in this directory'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "hook" -d 'Judge a PreToolUse payload as a hook (what Claude Code calls)'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from explain" -l tool -d 'A tool other than the shell' -r
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from explain" -l input -d 'A JSON file with the tool\'s input or a whole payload; - reads standard input' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from explain" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from allow" -l once -d 'Allow one call, within ten minutes (the default)'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from allow" -l project -d 'Allow it in the project around the current directory'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from allow" -l user -d 'Allow it everywhere'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from allow" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from rules" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from rules" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from hook" -l client -d 'The coding agent that calls, if not Claude Code' -r
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from hook" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -f -a "serve" -d 'Run a hub: receive what machines send, and show the team\'s board'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -f -a "invite" -d 'Invite somebody: prints the command that joins their machine'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -f -a "revoke" -d 'Revoke a machine\'s access: its next batch is refused, and its agents leave the board'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -f -a "check" -d 'Check that a hub works: exits 0 if it does, for health checks'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -f -a "join" -d 'Join a hub with the link from an invitation'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -f -a "leave" -d 'Leave the hub: nothing more is sent, and this machine\'s agents leave its board'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -f -a "status" -d 'Show the state of the link to the hub'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -f -a "preview" -d 'Show exactly what leaves this machine'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and not __fish_seen_subcommand_from serve invite revoke check join leave status preview login" -f -a "login" -d 'Print a link that opens the team\'s board in a browser, once'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from serve" -l database-url -d 'The hub\'s database, as postgres://user@host/name (default: $HEADSPACE_DATABASE_URL). On another machine it must use TLS with a certificate for its name; add `?sslmode=disable` if the network in between is safe' -r
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from serve" -l database-password-file -d 'A file with the database password, to keep it out of the process list (default: $HEADSPACE_DATABASE_PASSWORD_FILE)' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from serve" -l listen -d 'Address and port to listen on' -r
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from serve" -l public-url -d 'The address at which machines and browsers reach the hub, if it is not the one it listens on' -r
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from serve" -l tls-cert -d 'The hub\'s certificate and its chain, in PEM' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from serve" -l tls-key -d 'Its private key, in PEM' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from serve" -l no-notify -d 'Do not use LISTEN and NOTIFY, which some databases and poolers lack: changes of other hubs then show within 2 s'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from invite" -l team -d 'The team to join; created if it does not exist' -r
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from invite" -l role -d 'How much of other people\'s agents this person sees' -r -f -a "states\t''
asks\t''
full\t''
admin\t''"
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from invite" -l days -d 'Days until the invitation expires, at most 7' -r
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from invite" -l uses -d 'How many machines may join with it' -r
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from invite" -l database-url -d 'The hub\'s database, as postgres://user@host/name (default: $HEADSPACE_DATABASE_URL). On another machine it must use TLS with a certificate for its name; add `?sslmode=disable` if the network in between is safe' -r
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from invite" -l database-password-file -d 'A file with the database password, to keep it out of the process list (default: $HEADSPACE_DATABASE_PASSWORD_FILE)' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from invite" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from invite" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from revoke" -l database-url -d 'The hub\'s database, as postgres://user@host/name (default: $HEADSPACE_DATABASE_URL). On another machine it must use TLS with a certificate for its name; add `?sslmode=disable` if the network in between is safe' -r
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from revoke" -l database-password-file -d 'A file with the database password, to keep it out of the process list (default: $HEADSPACE_DATABASE_PASSWORD_FILE)' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from check" -l url -d 'The hub\'s address' -r
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from join" -l share -d 'How much to share: states (who works, who waits), asks (also what is asked), full (everything)' -r -f -a "none\t''
states\t''
asks\t''
full\t''"
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from join" -l ca -d 'A PEM file with the certificates to trust instead of the system\'s' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from join" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from leave" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from status" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from preview" -l share -d 'Preview this level instead of the one the machine joined with (default: states)' -r -f -a "none\t''
states\t''
asks\t''
full\t''"
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from preview" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from preview" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from login" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hub; and __fish_seen_subcommand_from login" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand context; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand context; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Print the text that SessionStart would add; with --json also the files it comes from'
complete -c headspace -n "__fish_headspace_using_subcommand context; and __fish_seen_subcommand_from show" -l role -d 'Role whose `auto_include` is added (default: CLAUDE_SESSION_ROLE)' -r
complete -c headspace -n "__fish_headspace_using_subcommand context; and __fish_seen_subcommand_from show" -l project -d 'Directory of the session (default: the current one)' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand context; and __fish_seen_subcommand_from show" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand context; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand machines; and not __fish_seen_subcommand_from add list remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand machines; and not __fish_seen_subcommand_from add list remove" -f -a "add" -d 'Add a machine: an ssh host, or a name and a command that prints what `headspace relay` prints'
complete -c headspace -n "__fish_headspace_using_subcommand machines; and not __fish_seen_subcommand_from add list remove" -f -a "list" -d 'List the machines and the state of the connection to each'
complete -c headspace -n "__fish_headspace_using_subcommand machines; and not __fish_seen_subcommand_from add list remove" -f -a "remove" -d 'Take a machine and its agents off the board'
complete -c headspace -n "__fish_headspace_using_subcommand machines; and __fish_seen_subcommand_from add" -l name -d 'What to call it, if not by its host' -r
complete -c headspace -n "__fish_headspace_using_subcommand machines; and __fish_seen_subcommand_from add" -l program -d 'Path of headspace on that machine, if it is not on the PATH there' -r
complete -c headspace -n "__fish_headspace_using_subcommand machines; and __fish_seen_subcommand_from add" -l no-alerts -d 'Send no notifications about its agents'
complete -c headspace -n "__fish_headspace_using_subcommand machines; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand machines; and __fish_seen_subcommand_from list" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand machines; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand machines; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand relay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand doctor" -l config-dir -d 'Another configuration directory of Claude Code to check; may be repeated' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand doctor" -l fix -d 'Fix what is safe to fix: missing hooks, file permissions'
complete -c headspace -n "__fish_headspace_using_subcommand doctor" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand service; and not __fish_seen_subcommand_from install uninstall status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand service; and not __fish_seen_subcommand_from install uninstall status" -f -a "install" -d 'Write the unit; start the server now and at every login'
complete -c headspace -n "__fish_headspace_using_subcommand service; and not __fish_seen_subcommand_from install uninstall status" -f -a "uninstall" -d 'Stop the server and remove the unit'
complete -c headspace -n "__fish_headspace_using_subcommand service; and not __fish_seen_subcommand_from install uninstall status" -f -a "status" -d 'Show whether the unit is installed and the server is running'
complete -c headspace -n "__fish_headspace_using_subcommand service; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand service; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand service; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand rebuild" -l db -d 'Database file' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand rebuild" -l from -d 'Also use the events of this database, which may be damaged' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand rebuild" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand rebuild" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand prune" -l days -d 'Keep this many days instead of the configured number' -r
complete -c headspace -n "__fish_headspace_using_subcommand prune" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand wake" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand notify-when" -l wake -d 'The agent to wake' -r
complete -c headspace -n "__fish_headspace_using_subcommand notify-when" -l text -d 'The text to type there (default: which agent is done)' -r
complete -c headspace -n "__fish_headspace_using_subcommand notify-when" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand notify-test" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand notify-test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand demo" -l port -d 'Port to listen on; 0 means any free port' -r
complete -c headspace -n "__fish_headspace_using_subcommand demo" -l no-open -d 'Print the address without opening a browser'
complete -c headspace -n "__fish_headspace_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand completions" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_seen_subcommand_from jump events show explain export rename reply stop open wake notify-when" -f -a "(headspace complete agents 2>/dev/null)"
complete -c headspace -n "__fish_seen_subcommand_from events" -l agent -f -r -a "(headspace complete agents 2>/dev/null)"
complete -c headspace -n "__fish_seen_subcommand_from events" -l type -f -r -a "(headspace complete types 2>/dev/null)"
