"""`lockstep`: one line of help each, and nothing heavy imported until a command runs."""

import argparse
import importlib
import os
import signal
import sys

from collectors.contract.errors import UserError

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": (
        "infra.command.demo",
        "run everything on this machine: fleet, Kafka, collectors, jobs, page, scoreboard",
    ),
    "collect": ("collectors.command", "read a source into Kafka, or once to standard output"),
    "stream": ("infra.command.stream", "run the streaming jobs: detectors, incidents, node health, alerts"),
    "load": ("warehouse.load_command", "load Kafka into the warehouse, exactly once"),
    "sql": ("warehouse.sql_command", "query the warehouse, one statement or a prompt"),
    "report": ("pipelines.report_command", "write the daily report as one HTML file"),
    "detectors": ("streams.detectors_command", "the limits of every detector with their sources; check a limits file"),
    "incidents": ("streams.incidents_command", "what is wrong now: age, cause, part, jobs, who has seen it"),
    "health": ("streams.health_command", "which nodes should get work: score, state, why, since when"),
    "ack": ("streams.ack_command", "say that you have seen an incident"),
    "mute": ("streams.mute_command", "be quiet about an incident, a cause or a part for a while"),
    "unmute": ("streams.unmute_command", "end a mute before its time"),
    "maintenance": ("streams.maintenance_command", "say where people work: links and silence there wake nobody"),
    "alert-test": ("streams.alert_test_command", "send a test page to everybody who is told, say what each answered"),
    "replay": ("streams.replay_command", "run the detectors over recorded messages, without Kafka"),
    "score": ("infra.command.score", "precision, recall and delay of the detectors over simulated faults"),
    "watch": ("infra.command.watch", "the live view: open incidents, the fleet, rates; details and `seen` by a key"),
    "diagnose": ("infra.command.diagnose", "why a job is slow: the questions in their order, answered with numbers"),
    "backtest": ("infra.command.backtest", "judge the warehouse's past under other limits, beside what was told then"),
    "fleet": ("infra.command.fleet", "serve a simulated fleet over the source protocols"),
    "topics": ("infra.command.topics", "create or check the topics"),
    "kafka": ("infra.command.kafka", "start, stop or show the local Kafka"),
    "settings": ("infra.command.settings", "list every setting with value, default and meaning"),
    "schema": ("infra.command.schema", "print the JSON Schema of a topic's messages"),
}


def parser_for(name: str) -> argparse.ArgumentParser:
    """The parser of one command; loads its module."""
    module, line = COMMANDS[name]
    parser = argparse.ArgumentParser(prog=f"lockstep {name}", description=line[0].upper() + line[1:] + ".")
    importlib.import_module(module).add_arguments(parser)
    return parser


def overview() -> str:
    """What `lockstep --help` prints."""
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name.ljust(width)}  {line}" for name, (_, line) in COMMANDS.items())
    return (
        "usage: lockstep COMMAND [options]\n\n"
        "Which parts of a GPU fleet are slow, sick or losing packets, within seconds, with the cause.\n\n"
        f"commands:\n{lines}\n\n`lockstep COMMAND --help` shows the options of one.\n"
    )


def main(argv: list[str] | None = None) -> int:
    """Run one command. A user's mistake ends in one line on standard error and exit status 2."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv or argv[0] in ("-h", "--help", "help"):
        sys.stdout.write(overview())
        return 0 if argv else 2
    name, rest = argv[0], argv[1:]
    if name not in COMMANDS:
        sys.stderr.write(f"lockstep: no command {name!r}; there are {', '.join(COMMANDS)}\n")
        return 2
    try:
        parser = parser_for(name)
        args = parser.parse_args(rest)
        code = importlib.import_module(COMMANDS[name][0]).run(args)
        sys.stdout.flush()
        return int(code)
    except ModuleNotFoundError as why:
        if why.name and why.name.split(".")[0] in (
            "collectors",
            "streams",
            "warehouse",
            "pipelines",
            "infra",
        ):
            raise
        sys.stderr.write(
            f"lockstep {name}: the Python package {why.name!r} is not installed; "
            f"install this room's extra: pip install 'lockstep-telemetry[all]'\n"
        )
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (UserError, OSError) as why:
        sys.stderr.write(f"lockstep {name}: {why}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
