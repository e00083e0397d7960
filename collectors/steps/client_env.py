"""Who this rank is, from the variables of torchrun, Slurm or MPI. Part of the training client."""

from collections.abc import Mapping

RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
WORLD_SIZE = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
LOCAL_RANK = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")
JOB = ("LOCKSTEP_JOB", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID")
CONFIG = ("LOCKSTEP_CONFIG_HASH",)
NODE = ("LOCKSTEP_NODE", "SLURMD_NODENAME", "NODE_NAME")


def first(env: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """The first of these variables that says something; torchrun writes `none` for a run without an id."""
    return next((env[name] for name in names if env.get(name) not in (None, "", "none")), None)


def whole(given: int | None, env: Mapping[str, str], names: tuple[str, ...], default: int) -> int:
    """What was given, else what a variable says, else the default; what is no number is passed over."""
    for value in (given, first(env, names)):
        try:
            if value is not None:
                return int(value)
        except (TypeError, ValueError):
            continue
    return default


def attempt_of(given: int | None, env: Mapping[str, str]) -> int:
    """Never falls: a requeue by Slurm weighs a thousand restarts by torchrun, which counts from 0 each time."""
    if given is not None or env.get("LOCKSTEP_ATTEMPT"):
        return whole(given, env, ("LOCKSTEP_ATTEMPT",), 0)
    requeued = whole(None, env, ("SLURM_RESTART_COUNT",), 0)
    return 1000 * requeued + whole(None, env, ("TORCHELASTIC_RESTART_COUNT",), 0)


def gpu_uuid_of(given: object, env: Mapping[str, str], local_rank: int) -> str | None:
    """`GPU-...` from what torch calls `uuid`, or from CUDA_VISIBLE_DEVICES where that holds UUIDs; never a guess."""
    if given is not None:
        text = str(given)
        return text if text.startswith(("GPU-", "MIG-")) else f"GPU-{text}"
    visible = [name.strip() for name in env.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    own = visible[0] if len(visible) == 1 else visible[local_rank] if 0 <= local_rank < len(visible) else ""
    return own if own.startswith(("GPU-", "MIG-")) else None
