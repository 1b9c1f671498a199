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
complete -c headspace -n "__fish_headspace_needs_command" -f -a "explain" -d 'Explain why an agent is in its state'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "rename" -d 'Give an agent a name of your own'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "open" -d 'Open the dashboard in the browser'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "install" -d 'Merge headspace\'s hooks into the settings of your coding agents'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "uninstall" -d 'Remove headspace\'s hooks from settings.json'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "serve" -d 'Receive, store and show the events'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "notify" -d 'Deliver one hook event (Claude Code calls this)'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "statusline" -d 'Record context and cost from the status line, then run your own command'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "hooks" -d 'List, check, run and record hooks'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "guard" -d 'Judge tool calls: check, explain, rules'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "context" -d 'Show which context files a session would get'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "doctor" -d 'Diagnose why sessions do not show up, and fix it'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "service" -d 'Run the server as a service of your login session'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "rebuild" -d 'Recompute all agent states from the stored events'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "prune" -d 'Delete old events now'
complete -c headspace -n "__fish_headspace_needs_command" -f -a "wake" -d 'Type a message into an agent\'s own tmux pane'
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
complete -c headspace -n "__fish_headspace_using_subcommand status" -l waybar -d 'Print one line of JSON for a custom module of waybar'
complete -c headspace -n "__fish_headspace_using_subcommand status" -s a -l all -d 'Also show ended agents and headless runs (`claude -p`)'
complete -c headspace -n "__fish_headspace_using_subcommand status" -s w -l watch -d 'Refresh every second until interrupted'
complete -c headspace -n "__fish_headspace_using_subcommand status" -l exit-code -d 'Exit with 10 if an agent needs you'
complete -c headspace -n "__fish_headspace_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand top" -s a -l all -d 'Also show ended agents and headless runs (`claude -p`)'
complete -c headspace -n "__fish_headspace_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand next" -l print -d 'Only print which agent it is'
complete -c headspace -n "__fish_headspace_using_subcommand next" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand jump" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand events" -l agent -d 'The same as an option' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -l type -d 'Only events of these types: PreToolUse, or pre-tool-use; several with commas' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -l grep -d 'Only events that contain these words' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -l since -d 'Only events of the last 90s, 10m, 2h, 1d' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -s n -l lines -d 'Print at most this many stored events' -r
complete -c headspace -n "__fish_headspace_using_subcommand events" -s f -l follow -d 'Keep printing events as they come'
complete -c headspace -n "__fish_headspace_using_subcommand events" -l json -d 'Print one JSON object per line'
complete -c headspace -n "__fish_headspace_using_subcommand events" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand explain" -l steps -d 'Show at most this many steps' -r
complete -c headspace -n "__fish_headspace_using_subcommand explain" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand explain" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand rename" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand open" -l print -d 'Only print the link'
complete -c headspace -n "__fish_headspace_using_subcommand open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l scope -d 'Which settings file' -r -f -a "user\t'All your sessions'
project\t'Everybody who works on this project'
local\t'You, in this project'"
complete -c headspace -n "__fish_headspace_using_subcommand install" -l config-dir -d 'The client\'s configuration directory (default: CLAUDE_CONFIG_DIR or ~/.claude); may be repeated' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand install" -l client -d 'Whose settings, if not those of every client that is found' -r -f -a "claude\t''
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
complete -c headspace -n "__fish_headspace_using_subcommand install" -l list -d 'Only show which clients are there, and which have the hooks'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l tmux -d 'Print lines for your tmux.conf and change nothing'
complete -c headspace -n "__fish_headspace_using_subcommand install" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l scope -d 'Which settings file' -r -f -a "user\t'All your sessions'
project\t'Everybody who works on this project'
local\t'You, in this project'"
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l config-dir -d 'The client\'s configuration directory (default: CLAUDE_CONFIG_DIR or ~/.claude); may be repeated' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand uninstall" -l client -d 'Whose settings, if not those of every client that is found' -r -f -a "claude\t''
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
complete -c headspace -n "__fish_headspace_using_subcommand notify" -l client -d 'Which coding agent calls, if not Claude Code' -r
complete -c headspace -n "__fish_headspace_using_subcommand notify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand statusline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -f -a "list" -d 'Show every hook that counts for a project'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -f -a "validate" -d 'Check the settings files: what the client ignores, drops or never runs'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -f -a "run" -d 'Run the hooks of an event as the client would, and say what it would conclude'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and not __fish_seen_subcommand_from list validate run capture" -f -a "capture" -d 'Record the payloads of a real session, for later --input'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -l project -d 'The project whose hooks are meant' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -l dialect -d 'Whose settings files and rules' -r -f -a "claude\t''
wave\t''"
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -l client -d 'The hook file of another coding agent (codex, copilot, qwen, gemini, opencode)' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -l project -d 'The project whose hooks are meant' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -l dialect -d 'Whose settings files and rules' -r -f -a "claude\t''
wave\t''"
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -l client -d 'The hook file of another coding agent (codex, copilot, qwen, gemini, opencode)' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l tool -d 'The tool, for tool events' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l input -d 'A payload to use, - for standard input' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l set -d 'Replace a field of the payload (tool_input.command=ls); may be given again' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l time -d 'Run them this many times, and say how long each takes (p50, p95)' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l project -d 'The project whose hooks are meant' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l dialect -d 'Whose settings files and rules' -r -f -a "claude\t''
wave\t''"
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from capture" -l event -d 'Record only this event; may be given again' -r
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from capture" -l record -d 'What the recording hook calls: one payload on standard input'
complete -c headspace -n "__fish_headspace_using_subcommand hooks; and __fish_seen_subcommand_from capture" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "check" -d 'Judge a PreToolUse payload on standard input'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "explain" -d 'Show how a command is read, which rule speaks, and why'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "allow" -d 'Allow a command that the guard refused: once, in this project, or everywhere'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "rules" -d 'List the rules and what they say here'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and not __fish_seen_subcommand_from check explain allow rules hook" -f -a "hook" -d 'Judge a PreToolUse payload as a hook (what Claude Code calls)'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from explain" -l tool -d 'A tool other than the shell' -r
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from explain" -l input -d 'The tool\'s input, or a whole payload, as JSON; - for standard input' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from explain" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from allow" -l once -d 'For one call, within ten minutes (what happens without the other two)'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from allow" -l project -d 'Here: for the project around the current directory'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from allow" -l user -d 'Everywhere'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from allow" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from rules" -l json -d 'Print JSON'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from rules" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from hook" -l client -d 'Which coding agent calls, if not Claude Code' -r
complete -c headspace -n "__fish_headspace_using_subcommand guard; and __fish_seen_subcommand_from hook" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand context; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand context; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Print the text that SessionStart would add; with --json also the files it comes from'
complete -c headspace -n "__fish_headspace_using_subcommand context; and __fish_seen_subcommand_from show" -l role -d 'Role whose `auto_include` is added (default: CLAUDE_SESSION_ROLE)' -r
complete -c headspace -n "__fish_headspace_using_subcommand context; and __fish_seen_subcommand_from show" -l project -d 'Directory of the session (default: the current one)' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand context; and __fish_seen_subcommand_from show" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand context; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand doctor" -l config-dir -d 'Another configuration directory of Claude Code to check; may be repeated' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand doctor" -l fix -d 'Fix what is safe to fix: missing hooks, file permissions'
complete -c headspace -n "__fish_headspace_using_subcommand doctor" -l json -d 'Print as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand service; and not __fish_seen_subcommand_from install uninstall status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand service; and not __fish_seen_subcommand_from install uninstall status" -f -a "install" -d 'Write the unit; start the server now and at every login'
complete -c headspace -n "__fish_headspace_using_subcommand service; and not __fish_seen_subcommand_from install uninstall status" -f -a "uninstall" -d 'Stop the server and remove the unit'
complete -c headspace -n "__fish_headspace_using_subcommand service; and not __fish_seen_subcommand_from install uninstall status" -f -a "status" -d 'Show whether the unit is installed and the server runs'
complete -c headspace -n "__fish_headspace_using_subcommand service; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand service; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand service; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand service; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c headspace -n "__fish_headspace_using_subcommand rebuild" -l db -d 'Database file' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand rebuild" -l from -d 'Also take the events of this database, which may be damaged' -r -F
complete -c headspace -n "__fish_headspace_using_subcommand rebuild" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand rebuild" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand prune" -l days -d 'Keep this many days instead of the configured number' -r
complete -c headspace -n "__fish_headspace_using_subcommand prune" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand wake" -l force -d 'Type it even if the input box is not empty'
complete -c headspace -n "__fish_headspace_using_subcommand wake" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand notify-when" -l wake -d 'The agent to wake' -r
complete -c headspace -n "__fish_headspace_using_subcommand notify-when" -l text -d 'The text to type there (default: which agent is done)' -r
complete -c headspace -n "__fish_headspace_using_subcommand notify-when" -l force -d 'Type it even if the input box is not empty'
complete -c headspace -n "__fish_headspace_using_subcommand notify-when" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand notify-test" -l json -d 'Print the result as JSON'
complete -c headspace -n "__fish_headspace_using_subcommand notify-test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand demo" -l port -d 'Port to listen on; 0 means any free port' -r
complete -c headspace -n "__fish_headspace_using_subcommand demo" -l no-open -d 'Print the address without opening a browser'
complete -c headspace -n "__fish_headspace_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c headspace -n "__fish_headspace_using_subcommand completions" -s h -l help -d 'Print help'
