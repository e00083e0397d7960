"""Under which names a scheduler knows this job. Part of the training client."""

from collections.abc import Mapping

NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
HOST_NAME_MAX = 63
"""Characters of a pod's name that become its host name; a longer one is cut off."""


def names_of(job: str, env: Mapping[str, str]) -> list[str]:
    """The names of this job at Slurm, which its own differs from: its number, and `4700_12` for a task of an array."""
    array, task = env.get("SLURM_ARRAY_JOB_ID"), env.get("SLURM_ARRAY_TASK_ID")
    names = [env.get("SLURM_JOB_ID"), f"{array}_{task}" if array and task else None]
    return [name for name in names if name and name != job]


def pod_of(env: Mapping[str, str], namespace_file: str = NAMESPACE) -> str | None:
    """`namespace/name` of this rank's pod; None: in none, or its name is not sure.

    The host name is the pod's, but not of an indexed Job's, where it is the Job's and the index, and not where it was
    cut off. With the host's network it is the node's, which the collector knows.
    """
    name = env.get("POD_NAME")
    if not name and "JOB_COMPLETION_INDEX" not in env and len(env.get("HOSTNAME", "")) < HOST_NAME_MAX:
        name = env.get("HOSTNAME")
    namespace = env.get("POD_NAMESPACE")
    try:
        if name and not namespace:
            with open(namespace_file, encoding="utf-8") as file:  # noqa: PTH123 - saves the import
                namespace = file.read(HOST_NAME_MAX + 1).strip()
    except (OSError, ValueError):
        return None
    if not name or not namespace or "/" in name + namespace or len(name) > 253 or len(namespace) > HOST_NAME_MAX:
        return None
    return f"{namespace}/{name}"
