"""Which driver an RDMA device has, and so which names its hardware counters go by."""

from collections.abc import Collection

from collectors.fabric.vocabulary import counter_table

SYSTEMS = ("mlx5_hw_counters", "bnxt_re_hw_counters", "irdma_hw_counters", "efa_hw_counters")
_BY_DRIVER = {
    "mlx5_core": "mlx5_hw_counters",
    "bnxt_en": "bnxt_re_hw_counters",
    "bnxt_re": "bnxt_re_hw_counters",
    "ice": "irdma_hw_counters",
    "idpf": "irdma_hw_counters",
    "i40e": "irdma_hw_counters",
    "irdma": "irdma_hw_counters",
    "efa": "efa_hw_counters",
}
_BY_PREFIX = {
    "mlx5_": "mlx5_hw_counters",
    "bnxt_re": "bnxt_re_hw_counters",
    "irdma": "irdma_hw_counters",
    "efa_": "efa_hw_counters",
    "rdmap": "efa_hw_counters",
}


def hw_system(driver: str | None, device: str, hca_type: str | None, files: Collection[str]) -> str | None:
    """By the driver; by the device's name or type; by the file names themselves. None: no table knows them.

    Names alone do not decide: newer bnxt_re uses mlx5's names with other widths and meanings, and udev gives
    every driver's devices names such as `rocep8s0f0` and `ibp12s0`.
    """
    if driver in _BY_DRIVER:
        return _BY_DRIVER[driver]
    for prefix, system in _BY_PREFIX.items():
        if device.startswith(prefix):
            return system
    if hca_type is not None and hca_type.startswith("MT"):
        return "mlx5_hw_counters"
    if driver is not None:
        return None
    told = [name for name in files if name != "lifespan"]
    known = {system: sum(counter_table(system).find(name) is not None for name in told) for system in SYSTEMS}
    best = max(known, key=lambda system: known[system])
    return best if known[best] * 2 > len(told) else None
