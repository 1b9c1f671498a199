"""What the benches share: a server in a home of its own, the environment a hook has, the small C programs."""
import argparse, os, shutil, socket, subprocess, time, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))


def options(text, *more):
    """The command line: `--bin`, and what else a bench takes, as (name, settings)."""
    target = subprocess.run(["rustc", "-vV"], capture_output=True, text=True).stdout.split("host: ")[1].split()[0]
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="%s/../target/%s/release/headspace" % (HERE, target), help="the headspace to measure")
    for name, settings in more:
        parser.add_argument(name, **settings)
    return parser.parse_args()


def build(directory, names=("noop", "spawn", "ack")):
    """Compiles the C programs and copies them: a linker leaves a file in the page cache in small pieces."""
    for name in names:
        built = directory + "/built"
        subprocess.run(["cc", "-static", "-O2", "-D_GNU_SOURCE", "-o", built, "%s/notify.d/%s.c" % (HERE, name)], check=True)
        shutil.copy(built, directory + "/" + name)


def environment(home, url):
    return {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_CONFIG_HOME": home + "/config",
            "LANG": "C.UTF-8", "TERM": "xterm-256color", "CLAUDECODE": "1", "CLAUDE_PID": str(os.getpid()), "CLAUDE_CODE_ENTRYPOINT": "cli",
            "CLAUDE_PROJECT_DIR": "/home/user/project", "TMUX": "/tmp/tmux-1000/default,1,0", "TMUX_PANE": "%3", "CLAUDE_HEADSPACE_URL": url}


def serve(binary, home):
    """The server, once it answers, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url = "http://127.0.0.1:%d" % port
    server = subprocess.Popen([binary, "serve", "--port", str(port)], env=environment(home, url),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            urllib.request.urlopen(url + "/health", timeout=1)
            return server, url
        except OSError:
            if server.poll() is not None:
                raise SystemExit("the server ended with status %d" % server.returncode)
            time.sleep(0.05)
    raise SystemExit("the server does not answer")


def take_turns(tools, rounds, payload, env, commands):
    """Runs {name: command} in turn, `rounds` times each: {name: (median, p10, p90, failed)}, in µs."""
    words = [tools + "/spawn", str(rounds), payload] + [word for command in commands.values() for word in ["--"] + command]
    out = subprocess.run(words, env=env, check=True, capture_output=True, text=True).stdout
    return {name: [float(x) for x in line.split()] for name, line in zip(commands, out.splitlines())}
