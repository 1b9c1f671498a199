"""The job of `headspace notify` in Python, with the fastest HTTP client the standard library has."""
import http.client, json, os, re, socket, sys, time, uuid

payload = json.load(sys.stdin)
slug = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", payload["hook_event_name"]).lower()
pid = os.environ.get("CLAUDE_PID")
names = {"tmux_session": "CLAUDE_HEADSPACE_TMUX_SESSION", "tmux_pane": "TMUX_PANE", "entrypoint": "CLAUDE_CODE_ENTRYPOINT"}
payload.update({name: os.environ[variable] for name, variable in names.items() if os.environ.get(variable)})
if pid:
    payload["claude_pid"] = int(pid)
    payload["claude_pid_start"] = int(open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()[19])
payload.update(host=socket.gethostname(), sent_at=time.time_ns(), delivery_id=str(uuid.uuid4()))
body = json.dumps(payload)
try:
    server = http.client.HTTPConnection(os.environ["BENCH_URL"].split("//")[1], timeout=2)
    server.request("POST", "/hook/" + slug, body, {"content-type": "application/json"})
    server.getresponse().read()
except OSError:
    with open(os.environ["XDG_STATE_HOME"] + "/spool.jsonl", "a") as spool:
        spool.write(body + "\n")
